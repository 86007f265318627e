package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/onnx"
	"github.com/anamnesis-go/anamnesis/internal/stamp"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A coverage is what a statement about a model covers, and what it leaves out. The same list
// is made for a statement that is written and one that is verified.
type coverage struct {
	root   string
	folder bool
	files  []attest.File // without digests
	paths  []string      // of the files
	infos  []fs.FileInfo
	links  []attest.Link
	size   int64
	// left are the files and folders that are left out, by name. A folder stands for all
	// that is in it.
	left map[string]bool
	// signatures are those among left that are no more than a signature.
	signatures []string
}

// cover lists what is below root. leaves returns because of which name an entry is left out,
// or ""; own are the files that this run writes or reads, such as the statement itself.
func cover(root string, own []string, leaves func(name string) (string, error)) (*coverage, error) {
	c := &coverage{root: root, left: map[string]bool{}}
	info, err := os.Stat(root)
	switch {
	case err != nil:
		return nil, err
	case info.Mode().IsRegular():
		c.add(".", root, info)
		return c, nil
	case !info.IsDir(): // opening a pipe would wait for a writer
		return nil, wire.ErrUnsupported.Errorf("it is neither a regular file nor a folder")
	}
	c.folder = true
	for e := range folder.Each(root) {
		if err := c.entry(e, own, leaves); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *coverage) add(name, path string, info fs.FileInfo) {
	c.files, c.paths, c.infos = append(c.files, attest.File{Name: name}), append(c.paths, path), append(c.infos, info)
	c.size = wire.AddCap(c.size, info.Size())
}

func (c *coverage) entry(e folder.Entry, own []string, leaves func(string) (string, error)) error {
	what, err := leaves(e.Name)
	switch {
	case err != nil:
		return err
	case what == "" && isAt(e.Path, own):
		what = e.Name
	}
	if what != "" {
		if what == e.Name && e.Kind == folder.Unread {
			return e.Err
		}
		if what == e.Name && (e.Kind != folder.File || e.Link) || what != e.Name && isText(what) {
			return notCovered("%s is left out only as a regular file, and it is not one", wire.Quote(what))
		}
		if e.Kind == folder.Special && !isSocket(e.Path) { // as git leaves one in its folder, which nobody can open
			return notCovered("%s, which is left out, is a pipe or a device: who opens it may wait for ever", wire.Quote(e.Name))
		}
		c.left[what] = true
		if what == e.Name && !isText(what) && !strings.HasPrefix(what, ".git") {
			c.signatures = append(c.signatures, e.Name)
		}
		return nil
	}
	switch e.Kind {
	case folder.Unread:
		return e.Err
	case folder.Astray:
		return notCovered("%s is %s", wire.Quote(e.Name), e.Why)
	case folder.Special:
		return notCovered("%s is not a regular file", wire.Quote(e.Name))
	case folder.Folder:
		c.links = append(c.links, attest.Link{Name: e.Name, To: e.To})
		return nil
	}
	info, err := os.Stat(e.Path)
	if err == nil {
		c.add(e.Name, e.Path, info)
	}
	return err
}

// isText reports whether what is left out by a name is a text of git, and never a folder.
func isText(name string) bool { return name == ".gitattributes" || name == ".gitignore" }

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeSocket != 0
}

// isAt reports whether path is one of names, which may be empty: the same name in the same
// folder, not another link to the same file.
func isAt(path string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name != "" && filepath.Base(name) == filepath.Base(path) && resolved(name) == resolved(path)
	})
}

func notCovered(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{attest.ErrUncovered}, args...)...)
}

// checkLeft makes sure that no loader of the model reaches what is left out: what could be
// loaded by itself is no more than a signature, no link leads into the rest, and no file
// mentions it.
func (c *coverage) checkLeft(b *limits.Budget) error {
	for _, name := range c.signatures {
		path := filepath.Join(c.root, filepath.FromSlash(name))
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return notCovered("%s, which is left out as a signature, is not a regular file", wire.Quote(name))
		}
		text, err := readBounded(path, attest.MaxBytes)
		if err != nil {
			return err
		}
		if !attest.IsSignature(text) {
			return notCovered("%s is left out as a signature, and its content is not one: remove it, or give it another name", wire.Quote(name))
		}
	}
	for _, l := range c.links {
		for name := range c.left {
			if l.To == name || strings.HasPrefix(l.To, name+"/") {
				return notCovered("the link %s leads into %s, which is left out", wire.Quote(l.Name), wire.Quote(name))
			}
		}
	}
	return errors.Join(c.search(b), c.checkOutside(b))
}

// checkOutside makes sure that no text names a file outside of the folder.
func (c *coverage) checkOutside(b *limits.Budget) error {
	for i, f := range c.files {
		if !c.folder {
			f.Name = filepath.Base(c.root)
		}
		err := folder.Values(f.Name, func() (io.ReadCloser, error) {
			f, err := folder.OpenRegular(c.paths[i])
			return accountReader{f, b, f}, err
		}, func(v folder.Value) error {
			if err := b.Step(1); err != nil {
				return err
			}
			if !c.leaves(f.Name, v.Path) {
				return nil
			}
			member := ""
			if v.Member != "" {
				member = " (" + wire.Quote(v.Member) + ")"
			}
			return notCovered("%s names %s%s, which is outside of the folder: what is there is not covered, and could be loaded. Remove the name, or bring the file into the folder", wire.Quote(f.Name), tidy(strconv.Quote(v.Text), 512), member)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// leaves reports whether a path in a text called name leads out of the folder. A relative
// path counts from the text's folder. One that begins with .. may count from elsewhere, so
// what it names must be there. An absolute path counts if it exists now.
func (c *coverage) leaves(name, to string) bool {
	if folder.IsAbs(to) {
		at, err := filepath.EvalSymlinks(to)
		root, rootErr := filepath.EvalSymlinks(c.root)
		if rootErr == nil {
			root, rootErr = filepath.Abs(root)
		}
		if err != nil || rootErr != nil {
			_, err = os.Lstat(to)
			return err == nil
		}
		rel, err := filepath.Rel(root, at)
		return err != nil || !filepath.IsLocal(rel)
	}
	inside := path.Join(path.Dir(name), to)
	switch {
	case inside == ".." || strings.HasPrefix(inside, "../"):
		return true
	case strings.HasPrefix(to, "../") || to == "..":
		_, err := os.Lstat(filepath.Join(c.root, filepath.FromSlash(inside)))
		return err != nil || len(c.links) > 0
	}
	// Behind a link to a folder, .. leads elsewhere than the text says.
	return len(c.links) > 0 || !filepath.IsLocal(filepath.FromSlash(to))
}

// search looks for what is left out in the files that are covered.
func (c *coverage) search(b *limits.Budget) error {
	s := folder.Search{Inside: map[string][]string{}}
	for name := range c.left {
		s.Names = append(s.Names, name)
		path := filepath.Join(c.root, filepath.FromSlash(name))
		info, err := os.Stat(path)
		switch {
		case err != nil: // a link to nowhere
		case info.IsDir():
			list, err := os.ReadDir(path)
			if err != nil {
				return err
			}
			for _, e := range list {
				s.Inside[name] = append(s.Inside[name], e.Name())
			}
		case isText(name):
			link, err := os.Lstat(path)
			if err != nil {
				return err
			}
			if text, err := readBounded(path, 1<<20); err != nil || len(text) > 1<<20 || !utf8.Valid(text) || !link.Mode().IsRegular() {
				return notCovered("%s, which is left out, is not a text of up to a megabyte", wire.Quote(name))
			}
		}
	}
	slices.Sort(s.Names)
	for i, f := range c.files {
		if len(s.Names) == 0 {
			break
		}
		found, err := searchFile(b, s.In, f.Name, c.paths[i])
		if err != nil {
			return err
		}
		if found != "" {
			return notCovered("%s mentions %s, which is left out: what it names there could be loaded, and may be anything", wire.Quote(f.Name), wire.Quote(found))
		}
		joint, err := searchFile(b, s.Joint, f.Name, c.paths[i])
		if err != nil {
			return err
		}
		if joint != "" {
			return notCovered("%s has %s, by which it could name %s, which is left out: write it in one piece, or remove %s", wire.Quote(f.Name), tidy(joint, 128), wire.Quote(s.Names[0]), wire.Quote(s.Names[0]))
		}
	}
	return nil
}

func searchFile(b *limits.Budget, search func(string, io.Reader) (string, error), name, path string) (string, error) {
	f, err := folder.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return search(name, accountReader{f, b, f})
}

// An accountReader ends with the time of its account.
type accountReader struct {
	io.Reader

	b *limits.Budget
	io.Closer
}

func (r accountReader) Read(p []byte) (int, error) {
	if err := r.b.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// checkAlone makes sure that the loader of a file that is covered alone opens no other one.
func (c *coverage) checkAlone(b *limits.Budget) error {
	if c.folder {
		return nil
	}
	base := filepath.Base(c.root)
	if _, is := tensor.ParseIndexName(base); is {
		return notCovered("it is an index, whose loader opens the files that it names: name the folder")
	}
	if shard, is := tensor.ParseShardName(base); is && strings.EqualFold(shard.Ext, ".gguf") {
		return notCovered("it is one file of a set, whose loader opens the others: name the folder")
	}
	b = b.Probe()
	defer b.Close()
	h, err := tensor.OpenFile(localDir(filepath.Dir(c.root)), base)
	if err != nil {
		return err
	}
	defer h.Close()
	if m, err := parser.Decode(b, h, h.Size); err == nil {
		if slices.ContainsFunc(m.Findings(), func(f tensor.Finding) bool { return f.Code == "gguf.split" }) {
			return notCovered("it is one file of a set, whose loader opens the others: name the folder")
		}
		return nil
	}
	if m, err := onnx.Check(b, h, h.Size); err == nil && len(m.External) > 0 {
		return notCovered("its loader opens %s too: name the folder", wire.Quote(m.External[0]))
	}
	return nil
}

// checkSame makes sure that nothing has changed between two lists.
func (c *coverage) checkSame(now *coverage) error {
	at := func(name string, how string) error {
		return wire.At("attestation", "file "+wire.Quote(name), wire.NoOffset, wire.ErrMismatch.WithRule("file.changed").Errorf("it changed meanwhile: %s", how))
	}
	for i, f := range c.files {
		switch {
		case i >= len(now.files) || now.files[i].Name > f.Name && c.folder:
			return at(f.Name, "it was removed")
		case now.files[i].Name != f.Name:
			return at(now.files[i].Name, "it was added")
		case stamp.Replaced(c.infos[i], now.infos[i]):
			return at(f.Name, "another file was put in its place")
		}
		if how := stamp.Changed(c.infos[i], now.infos[i]); how != "" {
			return at(f.Name, how)
		}
	}
	if len(now.files) > len(c.files) {
		return at(now.files[len(c.files)].Name, "it was added")
	}
	if !slices.Equal(c.links, now.links) {
		return at(".", "a link to a folder was changed")
	}
	return nil
}
