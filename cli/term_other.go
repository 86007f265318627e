//go:build !unix && !windows

package cli

import "os"

// columnsOf is 0: nothing here tells whether f is a terminal.
func columnsOf(*os.File) int { return 0 }
