package clamd

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// errFound ends a walk at the first file that is refused.
var errFound = errors.New("found")

// scan judges a file, or all files of a folder. Unless all is set it stops at the first
// refused one.
func (k *conn) scan(arg string, all bool) error {
	name, ok := k.below(arg)
	if !ok {
		return k.answer(shown(arg) + ": No path below the root. ERROR")
	}
	accepted, others := 0, 0
	err := fs.WalkDir(k.Root, name, func(p string, e fs.DirEntry, err error) error {
		if k.ctx.Err() != nil {
			return k.ctx.Err()
		}
		if err == nil && e.IsDir() {
			return nil
		}
		text := "No such file. ERROR"
		if err == nil {
			text = k.file(p)
		}
		if text == clean && p != name {
			accepted++
			return nil
		}
		others++
		if err := k.answer(shown(path.Join(k.Dir, p)) + ": " + text); err != nil {
			return err
		}
		if !all && strings.HasSuffix(text, " FOUND") {
			return errFound
		}
		return nil
	})
	switch {
	case err == errFound:
		return nil
	case err != nil:
		return err
	case others == 0 && accepted > 0:
		return k.answer(shown(path.Join(k.Dir, name)) + ": " + clean)
	case others == 0: // nothing was judged
		return k.answer(shown(path.Join(k.Dir, name)) + ": No file below it. ERROR")
	}
	return nil
}

// below returns the name below the root of a client's path.
func (k *conn) below(arg string) (string, bool) {
	if k.Root == nil || arg == "" {
		return "", false
	}
	p := path.Clean(arg)
	if path.IsAbs(p) {
		if p == k.Dir {
			return ".", true
		}
		var ok bool
		if p, ok = strings.CutPrefix(p, strings.TrimSuffix(k.Dir, "/")+"/"); !ok || k.Dir == "" {
			return "", false
		}
	}
	return p, fs.ValidPath(p)
}

// file judges a regular file in place.
func (k *conn) file(name string) string {
	f, err := tensor.OpenFile(k.Root, name)
	if err != nil {
		return "No regular file below the root. ERROR"
	}
	defer f.Close()
	text, err := k.judge(name, func(u *host.Upload) error { return u.Use(f, f.Size) })
	if err != nil {
		return wire.Clean(err.Error(), 256) + ". ERROR"
	}
	return text
}

// shown returns a path for an answer, in which it cannot start a new line.
func shown(p string) string { return wire.Clean(p, 4096) }
