//go:build !unix && !windows

package term

import "os"

// Columns returns 0: this system has no call that tells whether f is a terminal.
func Columns(*os.File) int { return 0 }
