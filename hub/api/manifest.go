package api

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/receipt"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A manifest says which files a revision has.
type manifest struct {
	Repo, Revision, Nonce string
	Files                 []gate.File
}

// ManifestSchema is the version of a manifest's JSON.
const ManifestSchema = "amn.repo/1"

// fileBytes is the memory of a file of a manifest, besides its texts.
const fileBytes = 256

// repoName is what a repository may be called: a path of plain words, so that it can be asked
// for in an address. revisionName is a commit, a tag or a date.
var (
	repoName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*){0,7}$`)
	revisionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	digestName   = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// read reads a manifest, within an account.
func (o *Options) read(b *limits.Budget, w http.ResponseWriter, r *http.Request) (m manifest, err error) {
	body := http.MaxBytesReader(w, r.Body, o.MaxManifest)
	size := r.ContentLength
	if size < 0 {
		return m, &problem{status: http.StatusLengthRequired, detail: "the manifest has no Content-Length"}
	}
	if size > o.MaxManifest {
		return m, &problem{status: http.StatusRequestEntityTooLarge, detail: fmt.Sprintf("a manifest has at most %d bytes", o.MaxManifest)}
	}
	text, err := strictjson.Read(b, body, 0, size)
	if err != nil {
		return m, err
	}
	schema := ""
	var sizes int64
	err = strictjson.Decode(b, strictjson.Text{Format: "manifest", Body: text, Whole: true}, func(d *strictjson.Decoder) error {
		_, err := d.Fields([]string{"schema", "repo", "revision", "nonce", "files"}, func(i int) (err error) {
			switch i {
			case 0:
				schema, err = d.String()
			case 1:
				m.Repo, err = d.String()
			case 2:
				m.Revision, err = d.String()
			case 3:
				m.Nonce, err = d.String()
			default:
				err = d.Array(func(i int) error {
					if i >= o.MaxFiles {
						return &problem{status: http.StatusRequestEntityTooLarge, detail: fmt.Sprintf("a manifest has at most %d files", o.MaxFiles)}
					}
					if err := b.Alloc(fileBytes); err != nil {
						return err
					}
					f, err := readFile(d, o.MaxFile)
					m.Files = append(m.Files, f)
					sizes += f.Size
					if err == nil && sizes > o.TenantBytes {
						return &problem{status: http.StatusRequestEntityTooLarge, detail: fmt.Sprintf("the files of a revision have at most %d bytes", o.TenantBytes)}
					}
					return err
				})
			}
			return err
		})
		return err
	})
	if err != nil {
		return m, err
	}
	return m, m.check(schema)
}

func readFile(d *strictjson.Decoder, max int64) (f gate.File, err error) {
	has, err := d.Fields([]string{"path", "size", "sha256"}, func(i int) (err error) {
		switch i {
		case 0:
			f.Name, err = d.String()
		case 1:
			var n uint64
			n, err = d.Uint(uint64(max))
			f.Size = int64(n)
		default:
			f.SHA256, err = d.String()
		}
		return err
	})
	switch {
	case err != nil:
		return f, err
	case has != 7:
		return f, invalid("a file of a manifest has path, size and sha256")
	case !digestName.MatchString(f.SHA256):
		return f, invalid("%q: sha256 is no SHA-256 in lower-case hex", f.Name)
	}
	return f, nil
}

// invalid is what is wrong with a manifest.
func invalid(format string, args ...any) error {
	return &problem{status: http.StatusUnprocessableEntity, detail: wire.Text(fmt.Sprintf(format, args...), 1024)}
}

func (m *manifest) check(schema string) error {
	switch {
	case schema != ManifestSchema:
		return invalid("the manifest's schema is not %s", ManifestSchema)
	case !repoName.MatchString(m.Repo) || len(m.Repo) > 256:
		return invalid("%q is no name of a repository: OWNER/NAME of letters, digits, points, hyphens and underscores", m.Repo)
	case !revisionName.MatchString(m.Revision):
		return invalid("%q is no name of a revision: at most 128 letters, digits, points, hyphens and underscores", m.Revision)
	case m.Nonce != "" && !receipt.IsNonce(m.Nonce):
		return invalid("the nonce is none: %d to %d letters, digits and -._~", receipt.MinNonce, receipt.MaxNonce)
	case len(m.Files) == 0:
		return invalid("the manifest has no files")
	}
	var folder gate.Folder // which knows what names a folder may have
	for _, f := range m.Files {
		if err := folder.Add(f, strings.NewReader("")); err != nil {
			return invalid("%v", err)
		}
	}
	if gate.DirHash(m.Files) == "" {
		return invalid("a name of the manifest has a line break or a backslash")
	}
	return nil
}
