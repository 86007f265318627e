package convert

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/tiles"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// WriteFolder writes a model folder: the weights, their index if there are several files,
// config.json without quantization, and the other files that a loader needs; code only if
// code is true. The folder appears only when it is complete. With force it replaces a
// folder that contains only files it would write itself.
func (p *Plan) WriteFolder(target string, force, code bool) (*Result, error) {
	target = filepath.Clean(target)
	beside, err := p.beside(code)
	if err != nil {
		return nil, err
	}
	if err := checkFolder(p.m, target, force, code, beside.folders()); err != nil {
		return nil, err
	}
	parent := filepath.Dir(target)
	if err := checkRoom(machine{}, parent, p.Size); err != nil {
		return nil, err
	}
	temp := partialName(target)
	lock, err := claimFolder(temp)
	if err != nil {
		return nil, err
	}
	done := false
	defer func() {
		if !done {
			clearFolder(temp)
		}
		lock.Close()
	}()
	r, err := p.fillFolder(temp, beside)
	if err != nil {
		return nil, err
	}
	if err := p.lastLook(); err != nil {
		return nil, err
	}
	if err := publishFolder(temp, target); err != nil {
		return nil, err
	}
	done = true
	r.Beside = beside
	err = p.sync(func() error { return tiles.SyncFolder(parent) })
	r.Synced = p.synced
	return r, err
}

// fillFolder writes and syncs every file.
func (p *Plan) fillFolder(dir string, beside *Beside) (*Result, error) {
	r, err := p.fillWeights(dir)
	if err != nil {
		return nil, err
	}
	if (len(p.Files) > 1 || p.indexed()) && p.o.Split == nil {
		index, err := p.index()
		if err != nil {
			return nil, err
		}
		if err := p.writeNew(dir, p.stem()+indexEnding, func(f *os.File) error { return writeFull(f, index, 0) }); err != nil {
			return nil, err
		}
	}
	config, err := p.config()
	if err != nil {
		return nil, err
	}
	edited := len(p.Weights) > 0 || p.encoder != nil || p.unpacked() || namesWeights(p.b, p.m.Configs())
	for _, name := range beside.Copied {
		if sub := path.Dir(name); sub != "." {
			if err := os.Mkdir(filepath.Join(dir, sub), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, err
			}
		}
		write := func(f *os.File) error { return p.copyBeside(f, name) }
		if name == configName && edited {
			write = func(f *os.File) error { return writeFull(f, config, 0) }
		}
		if err := p.writeNew(dir, name, write); err != nil {
			return nil, err
		}
	}
	return r, p.sync(func() error { return syncFolders(dir, beside.Copied) })
}

// syncFolders syncs a folder, and its subfolders that hold the named files.
func syncFolders(dir string, names []string) error {
	for i, name := range names {
		if sub := path.Dir(name); sub != "." && (i == 0 || path.Dir(names[i-1]) != sub) {
			if err := tiles.SyncFolder(filepath.Join(dir, sub)); err != nil {
				return err
			}
		}
	}
	return tiles.SyncFolder(dir)
}

// fillWeights writes the weight files.
func (p *Plan) fillWeights(dir string) (r *Result, err error) {
	var open []*os.File // as many as there are shards
	defer func() {
		for _, f := range open {
			err = errors.Join(err, f.Close())
		}
	}()
	var files []io.WriterAt
	for i := range p.Files {
		f, err := create(dir, p.Files[i].Name)
		if err != nil {
			return nil, err
		}
		open, files = append(open, f), append(files, f)
		if err := tiles.Reserve(f, p.Files[i].Size); err != nil {
			return nil, err
		}
	}
	if r, err = p.Stream(files...); err != nil {
		return nil, err
	}
	for _, f := range open {
		if err := p.sync(f.Sync); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func create(dir, name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL|tiles.NoFollow, 0o666)
}

// writeNew writes one small file.
func (p *Plan) writeNew(dir, name string, write func(*os.File) error) error {
	f, err := create(dir, name)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = p.sync(f.Sync)
	}
	return errors.Join(err, f.Close())
}

// checkFolder returns an error for places where no folder is written.
func checkFolder(m tensor.Model, path string, force, code bool, subs []string) error {
	info, err := occupant(path, "folder")
	if info == nil {
		return err
	}
	if !info.IsDir() {
		return refused(path, "it is not a folder")
	}
	list, err := os.ReadDir(path)
	if err != nil || len(list) == 0 {
		return err
	}
	files := os.DirFS(path)
	for _, e := range list {
		info, err := os.Stat(filepath.Join(path, e.Name()))
		switch {
		case err == nil && m != nil && parser.Reads(m, info):
			return refused(path, "it is the input")
		case !force:
			return refused(path, "it exists; %s replaces it", wire.OptionForce)
		}
		known := replaceable(files, e, code)
		if e.IsDir() && slices.Contains(subs, e.Name()) {
			known = replaceableFolder(files, e.Name())
		}
		if !known {
			return refused(path, "it contains %q, which would not be overwritten: remove it, or choose another folder", e.Name())
		}
	}
	return nil
}

// replaceable reports whether a file is of a kind that would be written.
func replaceable(files fs.FS, e fs.DirEntry, code bool) bool {
	why := leave(files, e, code)
	return (why == "" || why == "weights") && e.Type().IsRegular()
}

// replaceableFolder reports whether a module's folder holds nothing else.
func replaceableFolder(files fs.FS, name string) bool {
	sub, err := fs.Sub(files, name)
	if err != nil {
		return false
	}
	list, err := fs.ReadDir(sub, ".")
	return err == nil && !slices.ContainsFunc(list, func(e fs.DirEntry) bool { return !replaceable(sub, e, false) })
}

// claimFolder creates and locks a folder, after removing what a killed run left.
func claimFolder(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil {
		if !info.IsDir() {
			return nil, refused(path, "something other than a folder is in the way")
		}
		old, err := lockFolder(path)
		if err != nil {
			return nil, err
		}
		err = clearFolder(path)
		if err = errors.Join(err, old.Close()); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		return nil, err
	}
	return lockFolder(path)
}

func lockFolder(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	taken, err := tiles.Lock(f)
	if err == nil && !taken {
		err = refused(path, "another run is writing this target")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// clearFolder removes a folder of files and of folders of files; anything deeper is not
// ours. Others may replace a subfolder by a link at any time, so files are only removed
// inside the folder that was examined.
func clearFolder(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	err = emptyFolder(root, info)
	if err = errors.Join(err, root.Close()); err != nil {
		return err
	}
	return os.Remove(path)
}

func emptyFolder(root *os.Root, looked fs.FileInfo) error {
	now, err := root.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(looked, now) {
		return refused(root.Name(), "it was replaced in the meantime")
	}
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.IsDir() {
			below, err := fs.ReadDir(root.FS(), e.Name())
			if err != nil {
				return err
			}
			for _, f := range below {
				if err := root.Remove(path.Join(e.Name(), f.Name())); err != nil {
					return err
				}
			}
		}
		if err := root.Remove(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// publishFolder renames the folder. An existing one is exchanged with it if the system
// can, else moved aside first.
func publishFolder(temp, path string) error {
	list, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(list) == 0 {
		if err == nil {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
		return os.Rename(temp, path)
	}
	if err != nil {
		return err
	}
	if tiles.Exchange(temp, path) == nil {
		return clearFolder(temp)
	}
	old := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".amn-old")
	if err := os.Rename(path, old); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Rename(old, path))
	}
	return clearFolder(old)
}
