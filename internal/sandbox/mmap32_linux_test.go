//go:build linux && (386 || arm)

package sandbox_test

import "golang.org/x/sys/unix"

// sysMmap takes its arguments in registers.
const sysMmap = unix.SYS_MMAP2
