//go:build !unix && !windows

package cli

import "os"

// columnsOf returns 0: this system has no call that tells whether f is a terminal.
func columnsOf(*os.File) int { return 0 }
