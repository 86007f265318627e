package coverage

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/stamp"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Coverage lists what a statement about a model covers, and what it leaves out. The list is made
// in the same way when a statement is written and when it is verified.
type Coverage struct {
	Root   string
	folder bool
	Files  []attest.File // without digests
	Paths  []string      // of the files
	infos  []fs.FileInfo
	Links  []attest.Link
	Size   int64
	// left has the names of the files and folders that are left out. A folder includes
	// everything in it.
	left map[string]bool
	// signatures are the files among left that are only a signature.
	signatures []string
}

// Of lists what is below root. leaves returns the name that leaves an entry out, its own or that of a
// folder above it, or "". own are the files that this run writes or reads, such as the statement
// itself.
func Of(root string, own []string, leaves func(name string) (string, error)) (*Coverage, error) {
	c := &Coverage{Root: root, left: map[string]bool{}}
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

func (c *Coverage) add(name, path string, info fs.FileInfo) {
	c.Files, c.Paths, c.infos = append(c.Files, attest.File{Name: name}), append(c.Paths, path), append(c.infos, info)
	c.Size = wire.AddCap(c.Size, info.Size())
}

func (c *Coverage) entry(e folder.Entry, own []string, leaves func(string) (string, error)) error {
	what, err := leaves(e.Name)
	switch {
	case err != nil:
		return err
	case what == "" && IsAt(e.Path, own):
		what = e.Name
	}
	if what != "" {
		if what == e.Name && e.Kind == folder.Unread {
			return e.Err
		}
		if what == e.Name && (e.Kind != folder.File || e.Link) || what != e.Name && isText(what) {
			return NotCovered("%s is left out only as a regular file, and it is not one", wire.Quote(what))
		}
		if e.Kind == folder.Special && !isSocket(e.Path) { // such as one that git leaves in its folder, which cannot be opened
			return NotCovered("%s, which is left out, is a pipe or a device: a program that opens it may wait forever", wire.Quote(e.Name))
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
		return NotCovered("%s is %s", wire.Quote(e.Name), e.Why)
	case folder.Special:
		if attest.Beside(e.Name) == ".git" && isSocket(e.Path) { // of git's monitor of files
			return nil
		}
		return NotCovered("%s is not a regular file", wire.Quote(e.Name))
	case folder.Folder:
		c.Links = append(c.Links, attest.Link{Name: e.Name, To: e.To})
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

// IsAt reports whether path is one of names, which may be empty: the same name in the same
// folder, not another link to the same file.
func IsAt(path string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name != "" && filepath.Base(name) == filepath.Base(path) && disk.Resolved(name) == disk.Resolved(path)
	})
}

func NotCovered(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{attest.ErrUncovered}, args...)...)
}

// CheckAlone checks that the loader of a single covered file opens no other file.
func (c *Coverage) CheckAlone(b *limits.Budget) error {
	if c.folder {
		return nil
	}
	base := filepath.Base(c.Root)
	if _, is := tensor.ParseIndexName(base); is {
		return NotCovered("it is an index, whose loader opens the files that it names: name the folder")
	}
	if shard, is := tensor.ParseShardName(base); is && strings.EqualFold(shard.Ext, ".gguf") {
		return NotCovered("it is one file of a set, whose loader opens the others: name the folder")
	}
	b = b.Probe()
	defer b.Close()
	h, err := tensor.OpenFile(disk.Dir(filepath.Dir(c.Root)), base)
	if err != nil {
		return err
	}
	defer h.Close()
	if m, err := parser.Decode(b, h, h.Size); err == nil {
		if slices.ContainsFunc(m.Findings(), func(f tensor.Finding) bool { return f.Code == "gguf.split" }) {
			return NotCovered("it is one file of a set, whose loader opens the others: name the folder")
		}
		return nil
	}
	if m, err := onnx.Decode(b, h, h.Size); err == nil && len(m.External) > 0 {
		return NotCovered("its loader opens %s too: name the folder", wire.Quote(m.External[0]))
	}
	return nil
}

// CheckSame makes sure that nothing has changed between two lists.
func (c *Coverage) CheckSame(now *Coverage) error {
	at := func(name string, how string) error {
		return wire.At("attestation", "file "+wire.Quote(name), wire.NoOffset, wire.ErrMismatch.WithRule("file.changed").Errorf("it changed meanwhile: %s", how))
	}
	for i, f := range c.Files {
		switch {
		case i >= len(now.Files) || now.Files[i].Name > f.Name && c.folder:
			return at(f.Name, "it was removed")
		case now.Files[i].Name != f.Name:
			return at(now.Files[i].Name, "it was added")
		case stamp.Replaced(c.infos[i], now.infos[i]):
			return at(f.Name, "another file was put in its place")
		}
		if how := stamp.Changed(c.infos[i], now.infos[i]); how != "" {
			return at(f.Name, how)
		}
	}
	if len(now.Files) > len(c.Files) {
		return at(now.Files[len(c.Files)].Name, "it was added")
	}
	if !slices.Equal(c.Links, now.Links) {
		return at(".", "a link to a folder was changed")
	}
	return nil
}

// CheckNoLinks refuses links, which the signature does not follow.
func (c *Coverage) CheckNoLinks() error {
	for e := range folder.Each(c.Root) {
		if c.folder && e.Link && attest.Ignored(e.Name) == "" {
			return fmt.Errorf("%w: %s is a link, and the signature follows none", attest.ErrDiffers, wire.Quote(e.Name))
		}
	}
	return nil
}
