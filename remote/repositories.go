package remote

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A Repository is a repository in a listing of the hub.
type Repository struct {
	Name   string // OWNER/REPO
	Commit string // the head of its main branch
}

// Address is the repository at this commit.
func (r Repository) Address() string { return "hf://" + r.Name + "@" + r.Commit }

// Repositories fetches a page of the repositories of an owner of the hub, or of all for "". It
// takes the cursor that the call for the previous page returned, or "" for the first page. next is ""
// after the last page. Repositories of other owners are an error.
func Repositories(b *limits.Budget, owner, cursor string, o Options) (page []Repository, next string, err error) {
	if owner != "" && !isRepoPart(owner) {
		return nil, "", fmt.Errorf("%w: %s cannot be an owner of the hub", ErrForbidden, wire.Quote(owner))
	}
	c := newClient(b, o)
	defer c.releaseAnswers()
	c.hosts = append(c.hosts, hubHosts...)
	c.signHub()
	u, err := locate(c.hub(), "", "api", "models")
	if err != nil {
		return nil, "", err
	}
	query := url.Values{"full": {"true"}, "limit": {strconv.Itoa(pageSize)}}
	if owner != "" {
		query.Set("author", owner)
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	u.RawQuery = query.Encode()
	err = c.get(u, nil, func(resp *http.Response) error {
		if resp.StatusCode != http.StatusOK {
			return refused("the hub: its list of models", resp)
		}
		text, err := c.text(resp)
		if err != nil {
			return err
		}
		page, next = nil, nextCursor(resp.Header.Values("Link"))
		return c.document("hub", text, func(d *strictjson.Decoder) error {
			return d.Array(func(int) error {
				r, err := readRepository(d)
				page = append(page, r) // charged by the size of the answer
				return err
			})
		})
	})
	if err != nil {
		return nil, "", err
	}
	for _, r := range page {
		of, name, _ := strings.Cut(r.Name, "/")
		switch {
		case !isRepoPart(of) || !isRepoPart(name) || !isHex(r.Commit, 40):
			return nil, "", wire.ErrSyntax.Errorf("the hub lists %s at %s, which is not a repository at a commit", wire.Quote(r.Name), wire.Quote(r.Commit))
		case owner != "" && !strings.EqualFold(of, owner): // the hub ignores the case of owners
			return nil, "", wire.ErrMismatch.Errorf("the hub was asked for repositories of %s, but lists %s", owner, wire.Quote(r.Name))
		}
	}
	if next == cursor && next != "" {
		return nil, "", wire.ErrMismatch.Errorf("the hub's list of models does not go on")
	}
	return page, next, nil
}

// pageSize is the number of repositories per request.
const pageSize = 200

func readRepository(d *strictjson.Decoder) (r Repository, err error) {
	err = members(d, map[string]func() error{"id": into(d, &r.Name), "sha": into(d, &r.Commit)})
	return r, err
}

// link matches a target of a Link header and its parameters.
var link = regexp.MustCompile(`<([^<>]*)>([^<]*)`)

// nextCursor returns the cursor of the next page. The rest of the address is ignored, so that the hub
// cannot lead this client elsewhere.
func nextCursor(headers []string) string {
	for _, h := range headers {
		for _, m := range link.FindAllStringSubmatch(h, -1) {
			if !strings.Contains(m[2], `rel="next"`) {
				continue
			}
			if u, err := url.Parse(m[1]); err == nil {
				return u.Query().Get("cursor")
			}
		}
	}
	return ""
}

// Pin returns an address that keeps its meaning: for a repository of the hub, it replaces the revision
// by its current commit. Other addresses are returned unchanged.
func Pin(b *limits.Budget, address string, o Options) (string, error) {
	rest, ok := strings.CutPrefix(lowerScheme(address), "hf://")
	if !ok {
		return address, nil
	}
	owner, rest, _ := strings.Cut(rest, "/")
	name, inside, below := strings.Cut(rest, "/")
	name, revision, pinned := strings.Cut(name, "@")
	if !pinned {
		revision = "main"
	}
	if !isRepoPart(owner) || !isRepoPart(name) {
		return "", fmt.Errorf("%w: give a repository as hf://owner/repo[@revision][/path]", ErrForbidden)
	}
	c := newClient(b, o)
	defer c.releaseAnswers()
	c.hosts = append(c.hosts, hubHosts...)
	c.signHub()
	r, err := c.listing(owner, name, revision)
	if err != nil {
		return "", err
	}
	out := Repository{owner + "/" + name, r.commit}.Address()
	if below {
		out += "/" + inside
	}
	return out, nil
}
