package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/stamp"
)

// Folder finds the repositories of a folder, or of the folders that a pattern names, and adds
// each with the revision that it has now.
func Folder(ctx context.Context, tenant, where string, add func(store.Work) error) error {
	roots := []string{where}
	single := true
	if _, err := os.Stat(where); err != nil && strings.ContainsAny(where, "*?[") {
		matches, err := filepath.Glob(where)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		roots, single = matches, false
		where = globRoot(where)
	} else if err != nil {
		return err
	}
	full, err := filepath.Abs(where)
	if err != nil {
		return err
	}
	found := 0
	var failed []error // what could not be looked at; the rest is found all the same
	for _, root := range roots {
		if root, err = filepath.Abs(root); err != nil {
			return err
		}
		info, err := os.Stat(root)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			if single {
				return fmt.Errorf("%s is a file: a source is a folder", root)
			}
			continue
		}
		err = repositories(ctx, root, !single, func(at string, err error) error {
			var w store.Work
			if err == nil {
				w, err = revision(ctx, full, at)
			}
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err == nil && (!utf8.ValidString(at) || strings.ContainsRune(at, 0)):
				err = fmt.Errorf("%q: the name is not UTF-8, and cannot be kept in a database", at)
			}
			if err != nil {
				failed = append(failed, err)
				return nil
			}
			found++
			w.Tenant = tenant
			return add(w)
		})
		if err != nil {
			return err
		}
	}
	if found == 0 && len(failed) == 0 {
		return fmt.Errorf("%s: there is no repository: no folder with a file", where)
	}
	return errors.Join(failed...)
}

// globRoot returns the folder that a pattern is below.
func globRoot(pattern string) string {
	for strings.ContainsAny(pattern, "*?[") {
		pattern = filepath.Dir(pattern)
	}
	return pattern
}

// repositories calls visit for each repository at root or below, and for each folder that cannot
// be read, with the reason.
func repositories(ctx context.Context, root string, named bool, visit func(string, error) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return visit(root, err)
	}
	below := entries[:0:0]
	for _, e := range entries {
		if !e.IsDir() {
			named = true
		} else {
			below = append(below, e)
		}
	}
	if named {
		return visit(root, nil)
	}
	for _, e := range below {
		if err := repositories(ctx, filepath.Join(root, e.Name()), false, visit); err != nil {
			return err
		}
	}
	return nil
}

// mebibyte is what a unit of cost is, besides a file.
const mebibyte = 1 << 20

// revision describes a repository of a folder as it is now.
func revision(ctx context.Context, source, at string) (w store.Work, err error) {
	sum, bytes := sha256.New(), int64(0)
	for e := range folder.Each(at) {
		if err := ctx.Err(); err != nil {
			return w, err
		}
		info, err := os.Stat(e.Path)
		state := "unread"
		if err == nil {
			state = stamp.Of(info)
			if info.Mode().IsRegular() {
				bytes += info.Size()
			}
		}
		fmt.Fprintf(sum, "%q %d %v %q %q\n", e.Name, e.Kind, e.Link, e.To, state)
		w.Cost++
	}
	name, err := filepath.Rel(source, at)
	if err != nil {
		return w, err
	}
	if name == "." {
		name = filepath.Base(at)
	}
	w.Source, w.Repo, w.Address = source, filepath.ToSlash(name), at
	w.Revision = hex.EncodeToString(sum.Sum(nil))
	w.Cost += bytes / mebibyte
	return w, nil
}

// Open returns the files of a repository that [Folder] found. What cannot be a file of a model
// there, such as a link that leads out, is listed and cannot be opened.
func Open(ctx context.Context, at string) (fs.FS, error) {
	info, err := os.Stat(at)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder any more", at)
	}
	t := &tree{files: map[string]*leaf{}, folders: map[string][]fs.DirEntry{".": nil}}
	for e := range folder.Each(at) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t.add(e)
	}
	for _, list := range t.folders {
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return t, nil
}

// A tree is a listing of a folder as a file system.
type tree struct {
	files   map[string]*leaf
	folders map[string][]fs.DirEntry
}

// A leaf is an entry of the listing, and its own fs.DirEntry.
type leaf struct {
	folder.Entry

	name string
	mode fs.FileMode
	err  error // why it is not opened
}

func (t *tree) add(e folder.Entry) {
	l := &leaf{Entry: e, err: e.Refusal()}
	if e.Kind != folder.File {
		l.mode = fs.ModeIrregular
		if l.err == nil { // a link to a folder of this one, whose files are listed where they are
			return
		}
	}
	t.files[e.Name] = l
	t.hang(e.Name, l)
}

// hang puts an entry into the folder that it is in, and that one into its own.
func (t *tree) hang(name string, l *leaf) {
	in := "."
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		in, l.name = name[:i], name[i+1:]
	} else {
		l.name = name
	}
	list, known := t.folders[in]
	t.folders[in] = append(list, l)
	if !known {
		t.hang(in, &leaf{mode: fs.ModeDir})
	}
}

func (l *leaf) Name() string               { return l.name }
func (l *leaf) IsDir() bool                { return l.mode.IsDir() }
func (l *leaf) Type() fs.FileMode          { return l.mode }
func (l *leaf) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	if l, ok := t.files[name]; ok {
		if l.err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: l.err}
		}
		return folder.OpenRegular(l.Path)
	}
	if list, ok := t.folders[name]; ok {
		return &listing{list: list}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadDir implements fs.ReadDirFS.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	list, ok := t.folders[name]
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(list), nil
}

// Stat implements fs.StatFS.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	if l, ok := t.files[name]; ok {
		if l.err != nil {
			return nil, &fs.PathError{Op: "stat", Path: name, Err: l.err}
		}
		return os.Stat(l.Path)
	}
	if _, ok := t.folders[name]; ok {
		return folderInfo{name: name}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// A listing is an open folder.
type listing struct{ list []fs.DirEntry }

func (l *listing) Stat() (fs.FileInfo, error) { return folderInfo{}, nil }
func (l *listing) Read([]byte) (int, error)   { return 0, fs.ErrInvalid }
func (l *listing) Close() error               { return nil }
