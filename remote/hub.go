package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
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
	SHA      string `json:"sha"`
	Siblings []struct {
		Name string `json:"rfilename"`
		Size int64  `json:"size"`
	} `json:"siblings"`
}

// hubFiles lists a repository at the current commit of its revision.
func hubFiles(c *client, rest string) (*tree, string, error) {
	owner, rest, _ := strings.Cut(rest, "/")
	name, inside, _ := strings.Cut(rest, "/")
	name, revision, pinned := strings.Cut(name, "@")
	if !pinned {
		revision = "main"
	}
	if owner == "" || name == "" || revision == "" || strings.ContainsAny(owner+name, "?#%\\") || strings.Trim(owner, ".") == "" || strings.Trim(name, ".") == "" || inside != "" && !fs.ValidPath(inside) {
		return nil, "", fmt.Errorf("%w: give a repository as hf://owner/repo[@revision][/path]", ErrForbidden)
	}
	hub := c.hub()
	c.hosts = append(c.hosts, hubHosts...)
	c.signHub()
	r, err := c.listing(owner, name, revision)
	if err != nil {
		return nil, "", err
	}
	t := newTree(c)
	for _, s := range r.Siblings {
		if err := t.add(s.Name, entry{size: s.Size, url: hub.JoinPath(owner, name, "resolve", r.SHA, s.Name)}); err != nil {
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
	c.sign = func(req *http.Request) {
		if c.o.Token != "" && req.URL.Host == hub.Host && req.URL.Scheme == hub.Scheme {
			req.Header.Set("Authorization", "Bearer "+c.o.Token)
		}
	}
}

// listing fetches the names and sizes of the files of a repository.
func (c *client) listing(owner, name, revision string) (*repo, error) {
	u := c.hub().JoinPath("api", "models", owner, name, "revision", url.PathEscape(revision))
	u.RawQuery = "blobs=true"
	var r repo
	err := c.get(u, nil, func(resp *http.Response) error {
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the hub: %s/%s@%s: %s", owner, name, revision, resp.Status)
		}
		text, err := c.text(resp)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &r)
	})
	if err != nil {
		return nil, err
	}
	if len(r.SHA) != 40 || strings.Trim(r.SHA, "0123456789abcdef") != "" {
		return nil, errors.New("the hub: the answer has no commit")
	}
	return &r, nil
}
