//go:build !linux

package output

import (
	"errors"
	"os"
)

// needsHold says that a process cannot lock itself.
const needsHold = false

// exchange cannot be had here.
func exchange(*os.File, string, string) error { return errors.ErrUnsupported }

// renameNoReplace cannot be had here: a link does the same.
func renameNoReplace(*os.File, string, string) error { return errors.ErrUnsupported }
