//go:build unix

package parser

import "syscall"

// nonblock keeps an open from waiting, should a FIFO have taken the place of the
// file that was looked at.
const nonblock = syscall.O_NONBLOCK
