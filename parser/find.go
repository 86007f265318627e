package parser

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Source is one model that [Find] found.
type Source struct {
	// Path is the file, or the folder of the model.
	Path string

	folder string // the folder of its files
	named  string // the path of the file that the caller gave, or ""
	entry  entry  // name is "." for the one model of the folder
}

// Open opens the model.
func (s Source) Open(b *limits.Budget) (tensor.Model, error) {
	return opened(b, "open", s.open)
}

func (s Source) open(b *limits.Budget) (tensor.Model, error) {
	if isStored(s.named) {
		return openStored(b, s.named)
	}
	d, err := confine(b, s.folder, s.entry.name, s.named)
	if err != nil {
		return nil, err
	}
	if s.entry.name == "." {
		return openOnly(b, d, s.Path)
	}
	return openIn(b, d, s.entry)
}

// sourceAt returns the model or folder that a path names. A model's folder in the hub's
// cache stands for its snapshot.
func sourceAt(path string) (Source, error) {
	if isStored(path) {
		return Source{Path: path, named: path, entry: entry{name: path}}, nil
	}
	if err := checkLocal(path); err != nil {
		return Source{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Source{}, err
	}
	if info.IsDir() {
		folder, err := snapshotOf(path)
		return Source{Path: path, folder: folder, entry: entry{name: "."}}, err
	}
	if err := checkRegular(info.Mode()); err != nil {
		return Source{}, err
	}
	return Source{Path: path, folder: filepath.Dir(path), named: path, entry: entry{name: filepath.Base(path)}}, nil
}

// Find lists the models at a path. A file is one model. A folder is one model if it has one
// index of shards, else one set of shards, else one weight file. Otherwise all of them are
// listed by name; beside an index, files whose names are those of a whole model are listed
// too. With deep it searches subfolders; links to folders are not followed. Weight files
// are known by the extensions of [Formats].
func Find(path string, deep bool) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		s, err := sourceAt(path)
		if err != nil || s.entry.name != "." {
			s.Path = path
			yield(s, err)
			return
		}
		found := false
		for s, err := range walk(s.folder, path, deep) {
			found = true
			if !yield(s, err) {
				return
			}
		}
		if !found {
			yield(s, wire.At(detection, "", wire.NoOffset, notOne(os.DirFS(s.folder), nil)))
		}
	}
}

// walk lists the models of a folder and, if deep, of those below it. The folder
// itself may be a link; the ones below may not.
func walk(dir, path string, deep bool) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		filepath.WalkDir(dir, func(real string, e fs.DirEntry, err error) error {
			shown := filepath.Join(path, strings.TrimPrefix(real, dir))
			switch {
			case err != nil:
				if !yield(Source{Path: shown}, err) {
					return fs.SkipAll
				}
				return nil
			case !e.IsDir():
				return nil
			case real != dir && !deep:
				return fs.SkipDir
			}
			models, err := modelsOf(os.DirFS(real))
			if err != nil {
				return nil // WalkDir finds the same, and comes back with it
			}
			for _, m := range models {
				s := Source{Path: filepath.Join(shown, m.name), folder: real, entry: m}
				if len(models) == 1 && (byIndex(m.name) != nil || m.shards != nil) {
					s.Path = shown
				}
				if !yield(s, nil) {
					return fs.SkipAll
				}
			}
			return nil
		})
	}
}
