package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// hubHosts are the hosts that the hub redirects to.
var hubHosts = []string{"huggingface.co", ".huggingface.co", ".hf.co"}

// maxListing bounds an answer that lists the files of a repository.
const maxListing = 16 << 20

func (c *client) hub() *url.URL {
	text := c.o.Hub
	if text == "" {
		text = defaultHub
	}
	u, err := url.Parse(text)
	if err != nil {
		return &url.URL{}
	}
	return u
}

// A repo is the hub's description of a repository at a revision.
type repo struct {
	commit string
	files  []sibling
}

// A sibling is a file of a repository.
type sibling struct {
	name   string
	size   int64
	blob   string // its object in git: the file, or the pointer to a large one
	large  bool   // it is not in git
	sha256 string // of a large file
	length int64  // of a large file
}

// digest returns the digest that the hub states; nil if it states none.
func (s *sibling) digest() (*digest, error) {
	d := &digest{gitBlob, s.blob}
	if s.large {
		d = &digest{sha256Sum, s.sha256}
		if s.length != s.size {
			return nil, wire.ErrMismatch.Errorf("%s has two sizes in the listing", wire.Quote(s.name))
		}
	}
	if d.sum == "" && !s.large {
		return nil, nil
	}
	if !isHex(d.sum, d.kind.hexits()) {
		return nil, wire.ErrSyntax.Errorf("the digest of %s in the listing is not a digest", wire.Quote(s.name))
	}
	return d, nil
}

// hubFiles lists a repository at the current commit of its revision.
func hubFiles(c *client, rest string) (*tree, string, error) {
	owner, rest, _ := strings.Cut(rest, "/")
	name, inside, _ := strings.Cut(rest, "/")
	name, revision, pinned := strings.Cut(name, "@")
	if !pinned {
		revision = "main"
	}
	if !isRepoPart(owner) || !isRepoPart(name) || inside != "" && !fs.ValidPath(inside) {
		return nil, "", fmt.Errorf("%w: give a repository as hf://owner/repo[@revision][/path]", ErrForbidden)
	}
	c.hosts = append(c.hosts, hubHosts...)
	c.signHub()
	r, err := c.listing(owner, name, revision)
	if err != nil {
		return nil, "", err
	}
	t := newTree(c)
	for _, s := range r.files {
		if err := checkName(s.name); err != nil {
			return nil, "", err
		}
		u, err := locate(c.hub(), "", append([]string{owner, name, "resolve", r.commit}, strings.Split(s.name, "/")...)...)
		if err != nil {
			return nil, "", err
		}
		stated, err := s.digest()
		if err != nil {
			return nil, "", err
		}
		if err := t.add(s.name, entry{size: s.size, url: u, stated: stated}); err != nil {
			return nil, "", err
		}
	}
	if inside == "" {
		inside = "."
	}
	return t, inside, nil
}

// signHub makes requests to the hub's own host carry the token.
func (c *client) signHub() {
	hub := c.hub()
	c.sign = func(req *http.Request) error {
		if c.o.Token != "" && req.URL.Host == hub.Host && req.URL.Scheme == hub.Scheme {
			req.Header.Set("Authorization", "Bearer "+c.o.Token)
		}
		return nil
	}
}

// isRepoPart reports whether s can be the owner or the name of a repository: letters, digits,
// and -_. between them.
func isRepoPart(s string) bool {
	const inner = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
	return s != "" && len(s) <= 96 && strings.Trim(s, inner) == "" && strings.Trim(s, ".") != "" && !strings.Contains(s, "..")
}

// listing fetches the names and sizes of the files of a repository.
func (c *client) listing(owner, name, revision string) (*repo, error) {
	u, err := locate(c.hub(), "", "api", "models", owner, name, "revision", revision)
	if err != nil {
		return nil, err
	}
	u.RawQuery = "blobs=true"
	var r repo
	err = c.get(u, nil, func(resp *http.Response) error {
		if resp.StatusCode != http.StatusOK {
			return refused(fmt.Sprintf("the hub: %s/%s@%s", owner, name, revision), resp)
		}
		text, err := c.text(resp)
		if err != nil {
			return err
		}
		r = repo{}
		return c.document("hub", text, r.read)
	})
	if err != nil {
		return nil, err
	}
	if !isHex(r.commit, 40) {
		return nil, errors.New("the hub: the answer has no commit")
	}
	return &r, nil
}

func (r *repo) read(d *strictjson.Decoder) error {
	return members(d, map[string]func() error{
		"sha": into(d, &r.commit),
		"siblings": func() error {
			return d.Array(func(int) error {
				s, err := readSibling(d)
				r.files = append(r.files, s) // charged by the size of the answer
				return err
			})
		},
	})
}

func readSibling(d *strictjson.Decoder) (sibling, error) {
	s := sibling{size: -1}
	err := members(d, map[string]func() error{
		"rfilename": into(d, &s.name),
		"size":      count(d, &s.size),
		"blobId":    into(d, &s.blob),
		"lfs": func() error {
			if k, err := d.Kind(); err != nil || k == strictjson.Null {
				return err
			}
			s.large = true
			return members(d, map[string]func() error{"sha256": into(d, &s.sha256), "size": count(d, &s.length)})
		},
	})
	if err == nil && s.size < 0 {
		err = d.Fail("", wire.ErrRange.Errorf("%s has no size in the listing, or a negative size", wire.Quote(s.name)))
	}
	return s, err
}
