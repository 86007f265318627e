package gate

import (
	"io/fs"
	"path"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
)

// An around returns the kinds of a folder that is the given number of levels above the folder of a
// file; known is false if it cannot be listed.
type around func(up int) (f sidecar.Folder, known bool, err error)

// maxKinds bounds how many folders a walk remembers.
const maxKinds = 256

// kinds remembers the kinds of the folders of a walk.
type kinds struct{ of map[string]sidecar.Folder }

// around returns the kinds of a folder of a walk and of those above it. A folder that cannot be
// listed has no known kind.
func (k *kinds) around(dir string, parent func(string) string, list func(string) ([]fs.DirEntry, error)) around {
	return func(up int) (sidecar.Folder, bool, error) {
		in := dir
		for range up {
			in = parent(in)
		}
		if f, ok := k.of[in]; ok {
			return f, true, nil
		}
		entries, err := list(in)
		if err != nil {
			return 0, false, nil
		}
		f := sidecar.Folder(0)
		for _, e := range entries {
			if !e.IsDir() {
				f |= sidecar.MarkOf(e.Name())
			}
		}
		if k.of == nil || len(k.of) >= maxKinds {
			k.of = map[string]sidecar.Folder{}
		}
		k.of[in] = f
		return f, true, nil
	}
}

// folderCost is the memory of a folder of an archive, besides its name.
const folderCost = 64

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
			if err := steps.Step(); err != nil {
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
