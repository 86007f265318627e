package output

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

var errUp = errors.New("it has .. after another folder, which may lead elsewhere if that folder is a link: write the path without .. in it")

// GoesUp reports whether a path has .. after a name: if that name is a link, the path leads
// elsewhere than its text says.
func GoesUp(path string) bool {
	separates := func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) }
	below := false
	for _, name := range strings.FieldsFunc(path[len(filepath.VolumeName(path)):], separates) {
		if name == ".." && below {
			return true
		}
		below = below || name != "." && name != ".."
	}
	return false
}

// absolute returns the absolute path of what the system finds by a path that does not go up
// again: one that begins with .. counts from the current folder without links.
func absolute(path string) (string, error) {
	if GoesUp(path) {
		return "", errUp
	}
	if clean := filepath.Clean(path); clean != ".." && !strings.HasPrefix(clean, ".."+string(filepath.Separator)) {
		return filepath.Abs(path)
	}
	current, err := os.Getwd()
	if err == nil {
		current, err = filepath.EvalSymlinks(current)
	}
	return filepath.Join(current, path), err
}
