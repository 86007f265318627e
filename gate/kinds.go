package gate

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An around returns the kinds of a folder that is the given number of levels above the folder of a
// file; known is false if it cannot be listed.
type around func(up int) (f sidecar.Folder, known bool, err error)

// A listed is what the names of a folder say about its files.
type listed struct {
	known bool // it could be listed
	kinds sidecar.Folder
	// weights are the files with weights, if all of them could be asked for their sizes.
	weights   sidecar.Weights
	unweighed bool
	models    []string // its first ONNX models by name, at most maxModels
	data      []string // the files in which they store their data
	read      bool     // data has those of all models
	held      int64
}

// maxListed bounds how many folders a walk remembers, besides those above the file at hand.
const maxListed = 256

// entrySteps are those of a name in a folder of a disk: to list it, and to look for it among the
// names by which folders are of a kind.
const entrySteps = 16

// folders remembers what a walk has listed, so that each folder is listed once, however many of
// its files ask. The file that asks first pays the steps, and the walk the memory.
type folders struct {
	b *limits.Budget
	// in returns a file system and the name of a folder there.
	in     func(dir string) (files fs.FS, at string)
	parent func(dir string) string
	of     map[string]*listed
}

// around returns the kinds of a folder of a walk and of those above it. A folder that cannot be
// listed has no known kind.
func (f *folders) around(b *limits.Budget, dir string) around {
	return func(up int) (sidecar.Folder, bool, error) {
		in := dir
		for range up {
			in = f.parent(in)
		}
		l, err := f.list(b, in, dir)
		if err != nil {
			return 0, false, err
		}
		return l.kinds, l.known, nil
	}
}

// weigh adds a file to the weights of its folder. A link counts as what it leads to.
func (l *listed) weigh(files fs.FS, dir string, e fs.DirEntry) {
	is, loaded := sidecar.HasWeights(e.Name())
	if !is {
		return
	}
	info, err := e.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = fs.Stat(files, path.Join(dir, e.Name()))
	}
	if err != nil {
		l.unweighed = true
		return
	}
	l.weights.Bytes += info.Size()
	l.weights.Loaded = l.weights.Loaded || loaded
}

// weights returns the files with weights of a folder of a walk.
func (f *folders) weights(b *limits.Budget, dir string) func() (sidecar.Weights, bool, error) {
	return func() (sidecar.Weights, bool, error) {
		l, err := f.list(b, dir, dir)
		if err != nil {
			return sidecar.Weights{}, false, err
		}
		return l.weights, l.known && !l.unweighed, nil
	}
}

// holdsData reports whether an ONNX model in a folder stores its data in the file of a name. It
// does not if the account or the context refuses to look.
func (f *folders) holdsData(b *limits.Budget, dir, name string) bool {
	l, err := f.list(b, dir, dir)
	if err != nil {
		return false
	}
	names := l.data
	if !l.read {
		names, err = f.readModels(b, dir, l)
	}
	return err == nil && slices.Contains(names, name)
}

// list lists a folder for a file in the folder at.
func (f *folders) list(b *limits.Budget, dir, at string) (*listed, error) {
	if l, ok := f.of[dir]; ok {
		return l, nil
	}
	l := &listed{known: true}
	files, name := f.in(dir)
	err := eachEntry(b, files, name, func(e fs.DirEntry) {
		if e.IsDir() {
			return
		}
		l.kinds |= sidecar.MarkOf(e.Name())
		l.weigh(files, name, e)
		if storesElsewhere(e.Name()) {
			l.addModel(e.Name())
		}
	})
	switch {
	case err != nil && (b.Err() != nil || wire.ClassOf(err) == wire.Limit):
		return nil, err // the next file asks again, and pays for it
	case err != nil:
		l = &listed{read: true}
	}
	l.held = folderCost + int64(len(dir))
	for _, m := range l.models {
		l.held += folderCost + int64(len(m))
	}
	f.leave(at)
	if err := f.b.Hold(l.held); err != nil {
		return nil, err
	}
	if f.of == nil {
		f.of = map[string]*listed{}
	}
	f.of[dir] = l
	return l, nil
}

// addModel keeps the first models in the order of their names, in which folders come in none.
func (l *listed) addModel(name string) {
	i, _ := slices.BinarySearch(l.models, name)
	if i < maxModels {
		l.models = slices.Insert(l.models[:min(len(l.models), maxModels-1)], i, strings.Clone(name))
	}
}

// readModels finds the files in which the models of a folder store their data. If a limit hides
// one, the next file asks again, and pays for it.
func (f *folders) readModels(b *limits.Budget, dir string, l *listed) ([]string, error) {
	files, at := f.in(dir)
	d, err := dataOf(b, files, at, l.models)
	if err != nil || !d.whole {
		return d.names, err
	}
	if err := f.b.Hold(d.held); err != nil {
		return nil, err
	}
	l.data, l.read = d.names, true
	l.held += d.held
	return d.names, nil
}

// leave forgets folders once they are many, but for that of the file at hand and those above it,
// which the files that follow ask for too.
func (f *folders) leave(at string) {
	if len(f.of) < maxListed {
		return
	}
	kept := map[string]*listed{}
	for dir := at; ; dir = f.parent(dir) {
		if l, ok := f.of[dir]; ok {
			kept[dir] = l
		}
		if f.parent(dir) == dir {
			break
		}
	}
	for dir, l := range f.of {
		if kept[dir] == nil {
			f.b.Drop(l.held)
		}
	}
	f.of = kept
}

// close gives back the memory.
func (f *folders) close() {
	for _, l := range f.of {
		f.b.Drop(l.held)
	}
	f.of = nil
}

// entriesAtOnce is how many names of a folder are read between two looks at an account.
const entriesAtOnce = 256

// eachEntry visits the entries of a folder, in the order in which the file system has them.
func eachEntry(b *limits.Budget, files fs.FS, dir string, visit func(fs.DirEntry)) error {
	visitAll := func(list []fs.DirEntry) error {
		if len(list) == 0 {
			return nil
		}
		if err := b.Step(entrySteps * int64(len(list))); err != nil {
			return err
		}
		for _, e := range list {
			visit(e)
		}
		return nil
	}
	if whole, ok := files.(fs.ReadDirFS); ok {
		list, err := whole.ReadDir(dir)
		if err != nil {
			return err
		}
		return visitAll(list)
	}
	h, err := files.Open(dir)
	if err != nil {
		return err
	}
	defer h.Close()
	in, ok := h.(fs.ReadDirFile)
	if !ok {
		return &fs.PathError{Op: "readdir", Path: dir, Err: errors.ErrUnsupported}
	}
	for {
		list, err := in.ReadDir(entriesAtOnce)
		if err := visitAll(list); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// folderCost is the memory of a folder or a file that is remembered, besides its name.
const folderCost = 64

// nameSteps are those of a name of an archive: its folder, and the names by which folders are of a
// kind.
const nameSteps = 4

// kindsOf returns the kinds of a folder of an archive; known is false if its files cannot be listed.
func (u *unpacking) kindsOf(dir string) (f sidecar.Folder, known bool, err error) {
	files, err := u.around()
	if err != nil {
		return 0, false, err
	}
	if u.kinds == nil {
		u.kinds = map[string]sidecar.Folder{}
		steps := u.o.account.Steps()
		for _, name := range files.Names() {
			if err := steps.Take(nameSteps); err != nil {
				return 0, false, err
			}
			in := path.Dir(name)
			if _, ok := u.kinds[in]; !ok {
				n := folderCost + int64(len(in))
				if err := u.hold(n); err != nil {
					return 0, false, err
				}
			}
			u.kinds[in] |= sidecar.MarkOf(name)
		}
	}
	return u.kinds[dir], true, nil
}
