package coverage

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// CheckLeft checks that no loader of the model reaches a file that is left out: signatures are
// nothing but signatures, no link leads to the others, and no file mentions them. absent are files
// that were attested and have been removed since.
func (c *Coverage) CheckLeft(b *limits.Budget, absent []string) error {
	for _, name := range absent {
		c.left[name] = true
	}
	for _, name := range c.signatures {
		path := filepath.Join(c.Root, filepath.FromSlash(name))
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return NotCovered("%s, which is left out as a signature, is not a regular file", wire.Quote(name))
		}
		text, err := disk.ReadBounded(path, attest.MaxBytes)
		if err != nil {
			return err
		}
		if !attest.IsSignature(text) {
			return NotCovered("%s is left out as a signature, and its content is not one: remove it, or give it another name", wire.Quote(name))
		}
	}
	for _, l := range c.Links {
		for name := range c.left {
			if l.To == name || strings.HasPrefix(l.To, name+"/") {
				return NotCovered("the link %s leads into %s, which is left out", wire.Quote(l.Name), wire.Quote(name))
			}
		}
	}
	read, err := c.read(b)
	if err != nil {
		return err
	}
	return errors.Join(c.search(b, read), c.checkOutside(b, read))
}

// read returns the indices of the files that a loader may read. Files of git, which a scan's
// statement covers, are read only by git, unless a link leads to them or a text mentions them.
func (c *Coverage) read(b *limits.Budget) ([]int, error) {
	var read []int
	beside := map[string][]int{}
	for i, f := range c.Files {
		if top := attest.Beside(f.Name); top != "" {
			beside[top] = append(beside[top], i)
		} else {
			read = append(read, i)
		}
	}
	for at := 0; at < len(read) && len(beside) > 0; at++ {
		i := read[at]
		for top := range beside {
			found, err := searchFile(b, (&folder.Search{Names: []string{top}, Inside: c.inside(top)}).In, c.Files[i].Name, c.Paths[i])
			if err != nil {
				return nil, err
			}
			if found != "" || slices.ContainsFunc(c.Links, func(l attest.Link) bool { return attest.Beside(l.To) == top }) {
				read = append(read, beside[top]...)
				delete(beside, top)
			}
		}
	}
	return read, nil
}

// inside lists what is in a folder, for [folder.Search].
func (c *Coverage) inside(name string) map[string][]string {
	list, err := os.ReadDir(filepath.Join(c.Root, filepath.FromSlash(name)))
	if err != nil {
		return nil
	}
	entries := []string{}
	for _, e := range list {
		entries = append(entries, e.Name())
	}
	return map[string][]string{name: entries}
}

// checkOutside makes sure that no text names a file outside of the folder.
func (c *Coverage) checkOutside(b *limits.Budget, read []int) error {
	for _, i := range read {
		f := c.Files[i]
		if !c.folder {
			f.Name = filepath.Base(c.Root)
		}
		err := folder.Values(f.Name, func() (io.ReadCloser, error) {
			f, err := folder.OpenRegular(c.Paths[i])
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
			return NotCovered("%s names %s%s, which is outside of the folder: what is there is not covered, and could be loaded. Remove the name, or bring the file into the folder", wire.Quote(f.Name), term.Tidy(strconv.Quote(v.Text), 512), member)
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
func (c *Coverage) leaves(name, to string) bool {
	if folder.IsAbs(to) {
		at, err := filepath.EvalSymlinks(to)
		root, rootErr := filepath.EvalSymlinks(c.Root)
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
		_, err := os.Lstat(filepath.Join(c.Root, filepath.FromSlash(inside)))
		return err != nil || len(c.Links) > 0
	}
	// Behind a link to a folder, .. leads elsewhere than the text says.
	return len(c.Links) > 0 || !filepath.IsLocal(filepath.FromSlash(to))
}

// search looks in the covered files for the names of what is left out.
func (c *Coverage) search(b *limits.Budget, read []int) error {
	s := folder.Search{Inside: map[string][]string{}}
	for name := range c.left {
		s.Names = append(s.Names, name)
		path := filepath.Join(c.Root, filepath.FromSlash(name))
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !isText(name): // it was removed, and may come back as a folder
			s.Inside[name] = nil
		case err != nil: // a link to nowhere
		case info.IsDir():
			maps.Copy(s.Inside, c.inside(name))
		case isText(name):
			link, err := os.Lstat(path)
			if err != nil {
				return err
			}
			if text, err := disk.ReadBounded(path, 1<<20); err != nil || len(text) > 1<<20 || !utf8.Valid(text) || !link.Mode().IsRegular() {
				return NotCovered("%s, which is left out, is not a text of up to a megabyte", wire.Quote(name))
			}
		}
	}
	slices.Sort(s.Names)
	if len(s.Names) == 0 {
		return nil
	}
	for _, i := range read {
		f := c.Files[i]
		found, err := searchFile(b, s.In, f.Name, c.Paths[i])
		if err != nil {
			return err
		}
		if found != "" {
			return NotCovered("%s mentions %s, which is left out: what it names there could be loaded, and may be anything", wire.Quote(f.Name), wire.Quote(found))
		}
		denotes, err := s.Denotes(f.Name, func() (io.ReadCloser, error) {
			f, err := folder.OpenRegular(c.Paths[i])
			return accountReader{f, b, f}, err
		})
		if err != nil {
			return err
		}
		if denotes != "" {
			return NotCovered("%s has %s, by which it could name %s, which is left out: write it in one piece, or remove %s", wire.Quote(f.Name), term.Tidy(strconv.Quote(denotes), 128), wire.Quote(s.Names[0]), wire.Quote(s.Names[0]))
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
