package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/remote"
)

// Remote says how addresses are reached. Keys and tokens come from the environment.
type Remote struct {
	AllowPrivate bool
	Hub          string // of hf://; "" for that of the environment
}

func (r Remote) options() remote.Options {
	o := remote.FromEnv()
	o.AllowPrivate = r.AllowPrivate
	if r.Hub != "" {
		o.Hub = r.Hub
	}
	return o
}

// Sources finds repositories and opens their files.
type Sources struct{ Remote Remote }

// IsAddress reports whether a repository is on another machine.
func IsAddress(at string) bool { return remote.Is(at) }

// Domain is who states the digests of an address: its scheme and host, for hf:// the hub. It is
// "" for a folder, whose files are digested here.
func (s Sources) Domain(address string) string {
	if !IsAddress(address) {
		return ""
	}
	scheme, rest, _ := strings.Cut(address, "://")
	if scheme = strings.ToLower(scheme); scheme == "hf" {
		return scheme + " " + s.Remote.options().Hub
	}
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}

// Stated is the SHA-256 that the source of an open file states, or "".
func Stated(f fs.File) string {
	named, ok := f.(tensor.Named)
	if !ok {
		return ""
	}
	sum, ok := strings.CutPrefix(named.ContentName(), "SHA-256 ")
	if b, err := hex.DecodeString(sum); !ok || err != nil || len(b) != sha256.Size {
		return ""
	}
	return sum
}

// Find finds the repositories of a source, and adds each with the revision that it has now.
func (s Sources) Find(ctx context.Context, b *limits.Budget, tenant, where string, add func(store.Work) error) error {
	if !IsAddress(where) {
		if strings.Contains(where, "://") {
			return fmt.Errorf("%s: there is no such source; folders, and hf://, s3://, gs://, oci://, ollama:// and https:// are read", where)
		}
		return Folder(ctx, tenant, where, add)
	}
	if owner, ok := strings.CutSuffix(where, "/*"); ok {
		owner, hub := strings.CutPrefix(owner, "hf://")
		if !hub || strings.ContainsAny(owner, "/@*") {
			return fmt.Errorf("%s: the repositories of an owner are hf://OWNER/*; other sources are named one by one", where)
		}
		return s.owner(ctx, b, tenant, owner, add)
	}
	account := s.account(ctx, b)
	defer account.Close()
	pinned, err := remote.Pin(account, where, s.Remote.options())
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	w, err := s.address(ctx, b, where, pinned)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	w.Tenant = tenant
	return add(w)
}

// called is a source as it is kept: another hub is another source.
func (s Sources) called(where string) string {
	if hub := s.Remote.options().Hub; hub != "" && strings.HasPrefix(strings.ToLower(where), "hf://") {
		return where + " at " + hub
	}
	return where
}

// Now describes a revision as its source has it now. What came as a manifest, or is pinned to a
// commit, is what it was.
func (s Sources) Now(ctx context.Context, b *limits.Budget, w store.Work) (store.Work, error) {
	if w.Manifest != nil {
		return w, nil
	}
	if IsAddress(w.Address) {
		now, err := s.address(ctx, b, w.Address, w.Address)
		now.Tenant, now.Source, now.Repo, now.Cost = w.Tenant, w.Source, w.Repo, w.Cost
		return now, err
	}
	now, err := revision(ctx, w.Source, w.Address)
	now.Tenant, now.Repo = w.Tenant, w.Repo
	return now, err
}

// account is that of what is fetched to find or to open something, below that of the process.
func (s Sources) account(ctx context.Context, b *limits.Budget) *limits.Budget {
	p := *b.Policy()
	p.Timeout = limits.DefaultTimeout
	return b.ChildContext(ctx, p)
}

// owner adds the repositories of an owner of the hub. The commit is the revision.
func (s Sources) owner(ctx context.Context, b *limits.Budget, tenant, owner string, add func(store.Work) error) error {
	for cursor, seen := "", map[string]bool{}; ; {
		if seen[cursor] {
			return fmt.Errorf("hf://%s/*: the hub's list goes in a circle", owner)
		}
		seen[cursor] = true
		account := s.account(ctx, b)
		page, next, err := remote.Repositories(account, owner, cursor, s.Remote.options())
		account.Close()
		if err != nil {
			return fmt.Errorf("hf://%s/*: %w", owner, err)
		}
		for _, r := range page {
			if err := add(store.Work{Tenant: tenant, Source: s.called("hf://" + owner + "/*"), Repo: r.Name, Revision: r.Commit, Address: r.Address(), Cost: 8}); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
}

// address describes what is at an address now: by its commit, or by the names, sizes and stated
// contents of its files.
func (s Sources) address(ctx context.Context, b *limits.Budget, where, pinned string) (w store.Work, err error) {
	w = store.Work{Source: s.called(where), Repo: name(where), Address: pinned, Cost: 8}
	if _, commit, ok := strings.Cut(pinned, "@"); ok && strings.HasPrefix(pinned, "hf://") {
		w.Revision, _, _ = strings.Cut(commit, "/")
		return w, nil
	}
	files, closer, err := s.Open(ctx, b, pinned)
	if err != nil {
		return w, err
	}
	defer closer.Close()
	sum := sha256.New()
	err = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		content := ""
		if named, ok := f.(tensor.Named); ok {
			content = named.ContentName()
		}
		fmt.Fprintf(sum, "%q %d %q\n", name, info.Size(), content)
		return nil
	})
	w.Revision = hex.EncodeToString(sum.Sum(nil))
	return w, err
}

// name is what a repository at an address is called.
func name(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "@")
	if u, err := url.PathUnescape(rest); err == nil {
		rest = u
	}
	return strings.Trim(rest, "/")
}

// Open returns the files of a repository, and what gives back what they hold.
func (s Sources) Open(ctx context.Context, b *limits.Budget, at string) (fs.FS, io.Closer, error) {
	if !IsAddress(at) {
		files, err := Open(ctx, at)
		return files, io.NopCloser(nil), err
	}
	p := *b.Policy()
	p.Timeout = limits.NoTimeout // the attempt has its own
	account := b.ChildContext(ctx, p)
	files, inside, err := remote.Files(account, at, s.Remote.options())
	if err == nil && inside != "." {
		var info fs.FileInfo
		if info, err = fs.Stat(files, inside); err == nil && !info.IsDir() {
			err = errors.New("it is one file: a source is a repository, or a folder of one")
		} else if err == nil {
			files, err = fs.Sub(files, inside)
		}
	}
	if err != nil {
		account.Close()
		return nil, nil, err
	}
	return files, closing{account}, nil
}

type closing struct{ *limits.Budget }

// Close implements io.Closer.
func (c closing) Close() error {
	c.Budget.Close()
	return nil
}
