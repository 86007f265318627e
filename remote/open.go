package remote

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/ollama"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// schemes has a row for each scheme: files returns the files at an address, and the name
// among them that the address means.
var schemes = []struct {
	prefix string
	files  func(c *client, rest string) (t *tree, name string, err error)
}{
	{"hf://", hubFiles},
	{"s3://", s3Files},
	{"gs://", gsFiles},
	{"oci://", ociFiles},
	{"ollama://", ollamaFiles},
	{"https://", func(c *client, rest string) (*tree, string, error) { return oneFile(c, "https://"+rest) }},
	{"http://", func(c *client, rest string) (*tree, string, error) { return oneFile(c, "http://"+rest) }},
}

// lowerScheme returns an address with its scheme in lower case.
func lowerScheme(address string) string {
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		return strings.ToLower(scheme) + "://" + rest
	}
	return address
}

// Is reports whether an argument is an address that [Open] opens.
func Is(address string) bool {
	address = lowerScheme(address)
	for _, s := range schemes {
		if strings.HasPrefix(address, s.prefix) {
			return true
		}
	}
	return false
}

// Open opens the model at an address. The budget must stay open until the model is closed.
//
//	hf://OWNER/REPO[@REVISION][/PATH]     a repository of the hub, at the commit that the revision is now
//	https://HOST/PATH                     one file
//	s3://BUCKET/KEY, gs://BUCKET/KEY      an object, or the objects below a prefix
//	oci://HOST/REPO[:TAG|@DIGEST][#NAME]  an artifact of a registry
//	ollama://[HOST/][NAMESPACE/]MODEL[:TAG]
func Open(b *limits.Budget, address string, o Options) (tensor.Model, error) {
	address = lowerScheme(address)
	t, name, err := files(b, address, o)
	if err != nil {
		return nil, err
	}
	if n, ok := strings.CutPrefix(address, "ollama://"); ok {
		parsed, err := ollama.ParseName(n)
		if err != nil {
			return nil, err
		}
		return parser.OpenStore(b, t, parsed)
	}
	t.prefetch(name)
	return parser.OpenFS(b, t, name)
}

// Files returns the files at an address, as a file system that fetches what is read, and the
// name in it that the address means. Of a model of ollama's registry, that is the folder of all
// its blobs.
func Files(b *limits.Budget, address string, o Options) (fs.FS, string, error) {
	t, name, err := files(b, address, o)
	if err != nil {
		return nil, "", err
	}
	if strings.HasPrefix(lowerScheme(address), "ollama://") {
		name = "blobs"
	}
	return t, name, nil
}

func files(b *limits.Budget, address string, o Options) (*tree, string, error) {
	address = lowerScheme(address)
	for _, s := range schemes {
		if rest, ok := strings.CutPrefix(address, s.prefix); ok {
			c := newClient(b, o)
			defer c.releaseAnswers()
			t, name, err := s.files(c, rest)
			if err == nil {
				err = t.fillFolders()
			}
			if err == nil {
				_, err = fs.Stat(t, name)
			}
			if errors.Is(err, fs.ErrNotExist) {
				err = &missing{err}
			}
			return t, name, err
		}
	}
	return nil, "", fmt.Errorf("%w: the scheme is unknown", ErrForbidden)
}

// oneFile returns a tree of the file at a URL.
func oneFile(c *client, address string) (*tree, string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", fmt.Errorf("%w: it is not a URL", ErrForbidden)
	}
	if err := c.check(u); err != nil {
		return nil, "", err
	}
	if err := checkPath(u); err != nil {
		return nil, "", err
	}
	u.Fragment = ""
	c.signHub() // the URL may be one of the hub
	return c.singleFile(u, false)
}

// singleFile returns a tree of one file, whose size the first answer states. md5 says that its
// ETag may be an MD5.
func (c *client) singleFile(u *url.URL, md5 bool) (*tree, string, error) {
	f := newFile(c, u, -1)
	f.md5 = md5
	if _, err := f.ReadAt(make([]byte, 1), 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	name := path.Base(u.Path)
	if checkName(name) != nil {
		name = "model"
	}
	t := newTree(c)
	t.files[name], t.open[name] = entry{size: f.size, url: u}, f
	return t, name, nil
}

// The beginnings of shards are fetched prefetchAtOnce at a time, before the shards are read one after
// another. If there are more than maxPrefetch, none is fetched ahead.
const (
	prefetchAtOnce = 8
	maxPrefetch    = 256
)

// prefetch fetches the first piece of each shard of the model. It ignores errors, which occur again
// when the shard is read.
func (t *tree) prefetch(name string) {
	folder := name
	if _, ok := t.files[name]; ok {
		folder = path.Dir(name)
	}
	var shards []string
	for file, e := range t.files {
		if e.url != nil && path.Dir(file) == folder && (strings.Contains(path.Base(file), "-of-") || strings.HasSuffix(file, ".index.json")) {
			shards = append(shards, file)
		}
	}
	if len(shards) > maxPrefetch || !slices.ContainsFunc(shards, func(s string) bool { return s == name || folder == name }) {
		return
	}
	slots := make(chan struct{}, prefetchAtOnce)
	var all sync.WaitGroup
	for _, s := range shards {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			_, _ = t.file(s).ReadAt(make([]byte, 1), 0)
		})
	}
	all.Wait()
}
