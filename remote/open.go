package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// maxListing is the longest answer of the hub about a repository.
const maxListing = 16 << 20

// Is reports an argument that this package opens.
func Is(address string) bool {
	return strings.HasPrefix(address, "hf://") || strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")
}

// Open opens the model at an address: hf://owner/repo[@revision][/path], or https:// and
// the place of one file. The context holds until the model is closed.
func Open(ctx context.Context, b *limits.Budget, address string, o Options) (tensor.Model, error) {
	c := newClient(o)
	if rest, ok := strings.CutPrefix(address, "hf://"); ok {
		return c.openHub(ctx, b, rest)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: no address", ErrForbidden)
	}
	if err := c.check(u); err != nil {
		return nil, err
	}
	u.Fragment = ""
	f := newFile(ctx, b, c, u, -1)
	if _, err := f.ReadAt(make([]byte, 1), 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	name := path.Base(u.Path)
	if !fs.ValidPath(name) || name == "." {
		name = "model"
	}
	t := &tree{ctx: ctx, b: b, c: c, files: map[string]int64{name: f.size}, open: map[string]*file{name: f}}
	return parser.OpenFS(b, t, name)
}

// A repo is what the hub says of one, at a revision.
type repo struct {
	SHA      string `json:"sha"`
	Siblings []struct {
		Name string `json:"rfilename"`
		Size int64  `json:"size"`
	} `json:"siblings"`
}

// openHub opens a model of the hub, at the commit that its revision is now.
func (c *client) openHub(ctx context.Context, b *limits.Budget, rest string) (tensor.Model, error) {
	owner, rest, _ := strings.Cut(rest, "/")
	name, inside, _ := strings.Cut(rest, "/")
	name, revision, pinned := strings.Cut(name, "@")
	if !pinned {
		revision = "main"
	}
	if owner == "" || name == "" || revision == "" || strings.ContainsAny(owner+name, "?#%\\") || strings.Trim(owner, ".") == "" || strings.Trim(name, ".") == "" || inside != "" && !fs.ValidPath(inside) {
		return nil, fmt.Errorf("%w: hf://owner/repo[@revision][/path] names a repository", ErrForbidden)
	}
	r, err := c.listing(ctx, b, owner, name, revision)
	if err != nil {
		return nil, err
	}
	t := &tree{ctx: ctx, b: b, c: c, files: map[string]int64{}, open: map[string]*file{}}
	for _, s := range r.Siblings {
		if err := b.Items(1); err != nil {
			return nil, err
		}
		if fs.ValidPath(s.Name) && s.Name != "." && s.Size >= 0 {
			t.files[s.Name] = s.Size
		}
	}
	t.at = func(file string) *url.URL { return c.hub().JoinPath(owner, name, "resolve", r.SHA, file) }
	if inside == "" {
		inside = "."
	}
	return parser.OpenFS(b, t, inside)
}

// listing asks for the files of a repository and their sizes.
func (c *client) listing(ctx context.Context, b *limits.Budget, owner, name, revision string) (*repo, error) {
	u := c.hub().JoinPath("api", "models", owner, name, "revision", url.PathEscape(revision))
	u.RawQuery = "blobs=true"
	var r repo
	err := c.get(ctx, u, nil, func(resp *http.Response) error {
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the hub: %s/%s@%s: %s", owner, name, revision, resp.Status)
		}
		if err := b.Alloc(maxListing); err != nil {
			return err
		}
		defer b.Drop(maxListing)
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxListing))
		if err != nil {
			return &retryable{err: err}
		}
		c.bytes.Add(int64(len(text)))
		return json.Unmarshal(text, &r)
	})
	if err != nil {
		return nil, err
	}
	if len(r.SHA) != 40 || strings.Trim(r.SHA, "0123456789abcdef") != "" {
		return nil, errors.New("the hub: an answer without a commit")
	}
	return &r, nil
}
