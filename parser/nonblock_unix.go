//go:build unix

package parser

import "syscall"

// nonblock keeps open from blocking if a FIFO has replaced the file since it was
// examined.
const nonblock = syscall.O_NONBLOCK
