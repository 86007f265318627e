package convert

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Check reports whether [Plan.Write] would replace a file, or why it would refuse the path.
// It writes nothing.
func (p *Plan) Check(path string, force bool) (replaces bool, err error) {
	if err := p.checkTarget(path, force); err != nil {
		return false, err
	}
	return p.check(path)
}

// CheckFolder does the same for [Plan.WriteFolder].
func (p *Plan) CheckFolder(path string, force, code bool) (replaces bool, err error) {
	path = filepath.Clean(path)
	beside, err := p.beside(code)
	if err != nil {
		return false, err
	}
	if err := checkFolder(p.m, path, force, code, beside.folders()); err != nil {
		return false, err
	}
	return p.check(path)
}

func (p *Plan) check(path string) (replaces bool, err error) {
	dir := filepath.Dir(path)
	if err := checkRoom(machine{}, dir, p.Size); err != nil {
		return false, err
	}
	if _, err = os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
