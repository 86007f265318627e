package output

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

var errUp = errors.New("it goes up again with .., which leads elsewhere if what is before it is a link: write the path without ..")

// absolute returns the absolute path of what the system finds by a path. It would be another
// one than the text says where .. stands behind a link, so .. may stand only at the
// beginning, and the current folder is the one without links.
func absolute(path string) (string, error) {
	separates := func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) }
	below, up := false, false
	for _, name := range strings.FieldsFunc(path[len(filepath.VolumeName(path)):], separates) {
		switch {
		case name == ".." && below:
			return "", errUp
		case name == "..":
			up = true
		case name != ".":
			below = true
		}
	}
	if !up || filepath.IsAbs(path) {
		return filepath.Abs(path)
	}
	current, err := os.Getwd()
	if err == nil {
		current, err = filepath.EvalSymlinks(current)
	}
	return filepath.Join(current, path), err
}
