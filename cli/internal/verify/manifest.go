package verify

import (
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
)

// manifest opens the manifest that the flags ask for, nil for none.
func (c *Hash) manifest() (*disk.Atomic, error) {
	path := c.Output
	if path == "" {
		return nil, nil
	}
	o := disk.Output{Flag: "-o", Path: path, Kind: "manifest"}
	if err := disk.Check([]disk.Output{o}, c.Paths, nil, c.Force); err != nil {
		return nil, err
	}
	return disk.Create(o, c.Force, disk.GuardOf(c.Paths))
}

// relativeTo returns path relative to the folder of the manifest. A model that is not a
// file, such as one of a store, keeps its name.
func relativeTo(manifest, path string) string {
	if _, err := os.Stat(path); err != nil {
		return path
	}
	from, err := filepath.Abs(filepath.Dir(manifest))
	to, err2 := filepath.Abs(path)
	rel, err3 := filepath.Rel(from, to)
	switch {
	case err != nil || err2 != nil:
		return path
	case err3 != nil: // on another volume
		return to
	}
	return filepath.ToSlash(rel)
}
