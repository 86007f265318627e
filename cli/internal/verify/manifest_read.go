package verify

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A manifestModel is a model in a manifest.
type manifestModel struct {
	Schema, Path, Format, Model string
	// Folder is where the model was found, "" if it was named itself; Recursive says that the
	// folders below it were searched too.
	Folder    string
	Recursive bool
	Files     []manifestEntry
	Tensors   []manifestEntry
}

// A manifestEntry is a file or a tensor of a model. Size is that of a file, or the bytes of
// a tensor.
type manifestEntry struct {
	Name, DType, SHA256 string
	Shape               []int64
	Size                int64
}

const (
	// maxManifest bounds the text of a manifest; a million tensors take a fifth of it.
	maxManifest = 1 << 30
	// maxDimensions bounds the dimensions of a shape. No format has more than 64.
	maxDimensions = 1 << 10
)

// errManifest is a text that is not a manifest.
var errManifest = errors.New("not a manifest of amn hash")

// A manifestReader reads the models of a manifest, a sequence of JSON objects. It charges what it
// keeps, since a manifest may come from the same source as the model. It refuses a member that is
// not compared with the model, and one that appears twice.
type manifestReader struct {
	b    *limits.Budget
	text *json.Decoder
}

func newManifestReader(b *limits.Budget, r io.Reader) *manifestReader {
	d := json.NewDecoder(io.LimitReader(r, maxManifest))
	d.UseNumber()
	return &manifestReader{b, d}
}

// next returns the next model, or io.EOF.
func (r *manifestReader) next() (*manifestModel, error) {
	m := new(manifestModel)
	seen, err := r.object(func(key string) error { return r.member(m, key) })
	if err != nil {
		return nil, err
	}
	for _, needed := range []string{"schema", "format", "class", "exit", "model", "files", "tensors"} {
		if !slices.Contains(seen, needed) {
			return nil, errManifest
		}
	}
	if m.Schema != "amn.digest/1" || slices.Contains(seen, "path") == slices.Contains(seen, "path_base64") {
		return nil, errManifest
	}
	searched := slices.Contains(seen, "recursive")
	if searched != (m.Folder != "") || searched != (slices.Contains(seen, "folder") != slices.Contains(seen, "folder_base64")) {
		return nil, errManifest
	}
	return m, nil
}

func (r *manifestReader) member(m *manifestModel, key string) (err error) {
	switch key {
	case "schema":
		m.Schema, err = r.string()
	case "path":
		m.Path, err = r.string()
	case "path_base64":
		m.Path, err = r.base64()
	case "folder":
		m.Folder, err = r.string()
	case "folder_base64":
		m.Folder, err = r.base64()
	case "recursive":
		m.Recursive, err = r.bool()
	case "format":
		m.Format, err = r.string()
	case "class":
		err = r.is("ok")
	case "exit":
		err = r.is(json.Number("0"))
	case "model":
		m.Model, err = r.string()
	case "files":
		m.Files, err = r.entries(r.file)
	case "tensors":
		m.Tensors, err = r.entries(r.tensor)
	default:
		err = notCompared(key)
	}
	return err
}

// notCompared is the error of a manifest that states what this program does not check.
func notCompared(key string) error {
	return wire.At("manifest", "", wire.NoOffset, wire.ErrUnsupported.Errorf("it states %s, which this version of amn does not compare with a model", wire.Quote(key)))
}

// entries reads a list of files or tensors, each by entry.
func (r *manifestReader) entries(entry func(*manifestEntry) error) (list []manifestEntry, err error) {
	if err := r.delim('['); err != nil {
		return nil, errManifest
	}
	for r.text.More() {
		var e manifestEntry
		if err := entry(&e); err != nil {
			if err == io.EOF {
				err = errManifest
			}
			return nil, err
		}
		if err := r.b.Alloc(int64(len(e.Name) + len(e.DType) + len(e.SHA256) + 8*cap(e.Shape))); err != nil {
			return nil, wire.At("manifest", "", wire.NoOffset, err)
		}
		if list, err = limits.Append(r.b, list, e); err != nil {
			return nil, wire.At("manifest", "", wire.NoOffset, err)
		}
	}
	if err := r.delim(']'); err != nil {
		return nil, errManifest
	}
	return list, nil
}

// file reads one file.
func (r *manifestReader) file(e *manifestEntry) error {
	seen, err := r.object(func(key string) (err error) {
		if key == "size" {
			e.Size, err = r.integer()
			return err
		}
		return r.common(e, key)
	})
	if err == nil && !(hasName(seen) && slices.Contains(seen, "size") && slices.Contains(seen, "sha256")) {
		return errManifest
	}
	return err
}

// tensor reads one tensor.
func (r *manifestReader) tensor(e *manifestEntry) error {
	seen, err := r.object(func(key string) (err error) {
		switch key {
		case "dtype":
			e.DType, err = r.string()
		case "shape":
			e.Shape, err = r.shape()
		case "bytes":
			e.Size, err = r.integer()
		default:
			return r.common(e, key)
		}
		return err
	})
	for _, needed := range []string{"dtype", "shape", "bytes", "sha256"} {
		if err == nil && !(hasName(seen) && slices.Contains(seen, needed)) {
			return errManifest
		}
	}
	return err
}

// common reads a member that files and tensors have.
func (r *manifestReader) common(e *manifestEntry, key string) (err error) {
	switch key {
	case "name":
		e.Name, err = r.string()
	case "name_base64":
		e.Name, err = r.base64()
	case "sha256":
		e.SHA256, err = r.string()
	default:
		err = notCompared(key)
	}
	return err
}

func hasName(seen []string) bool {
	return slices.Contains(seen, "name") != slices.Contains(seen, "name_base64")
}

// object reads an object and returns the names of its members, each of which member reads.
// The case of names counts. It returns io.EOF at the end of the text.
func (r *manifestReader) object(member func(key string) error) (seen []string, err error) {
	if err := r.delim('{'); err != nil {
		return nil, err
	}
	for r.text.More() {
		t, err := r.token()
		if err != nil {
			return nil, err
		}
		key, ok := t.(string)
		if !ok || slices.Contains(seen, key) {
			return nil, errManifest
		}
		if err := member(key); err != nil {
			return nil, err
		}
		seen = append(seen, key)
	}
	if r.delim('}') != nil {
		return nil, errManifest
	}
	return seen, nil
}

func (r *manifestReader) token() (json.Token, error) {
	if err := r.b.Step(1); err != nil {
		return nil, err
	}
	t, err := r.text.Token()
	if err != nil {
		return nil, errManifest
	}
	return t, nil
}

func (r *manifestReader) string() (string, error) {
	t, err := r.token()
	s, ok := t.(string)
	if err == nil && !ok {
		err = errManifest
	}
	return s, err
}

func (r *manifestReader) base64() (string, error) {
	s, err := r.string()
	if err != nil {
		return "", err
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", errManifest
	}
	return string(raw), nil
}

// integer reads a number, or a string with a number, as amn writes one that a double cannot hold.
func (r *manifestReader) integer() (int64, error) {
	t, err := r.token()
	if err != nil {
		return 0, err
	}
	text := ""
	switch t := t.(type) {
	case json.Number:
		text = t.String()
	case string:
		text = t
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, errManifest
	}
	return n, nil
}

func (r *manifestReader) bool() (bool, error) {
	t, err := r.token()
	is, ok := t.(bool)
	if err == nil && !ok {
		err = errManifest
	}
	return is, err
}

func (r *manifestReader) is(want json.Token) error {
	t, err := r.token()
	if err == nil && t != want {
		err = errManifest
	}
	return err
}

func (r *manifestReader) shape() (list []int64, err error) {
	if r.delim('[') != nil {
		return nil, errManifest
	}
	for r.text.More() {
		n, err := r.integer()
		if err != nil {
			return nil, err
		}
		if len(list) == maxDimensions {
			return nil, errManifest
		}
		list = append(list, n)
	}
	if r.delim(']') != nil {
		return nil, errManifest
	}
	return list, nil
}

// delim reads a bracket. It returns io.EOF at the end of the text.
func (r *manifestReader) delim(want json.Delim) error {
	t, err := r.text.Token()
	if err == io.EOF {
		return err
	}
	if err != nil || t != want {
		return errManifest
	}
	return nil
}
