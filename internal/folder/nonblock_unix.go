//go:build unix

package folder

import "syscall"

const nonblock = syscall.O_NONBLOCK
