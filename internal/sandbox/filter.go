//go:build linux && (amd64 || arm64)

package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hasFilter asks for a filter at no address: a kernel that has it for all threads says
// that the address is wrong.
func hasFilter() error {
	if _, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, 0); no != unix.EFAULT {
		return lacking("the kernel has no filter for all threads")
	}
	return nil
}

// filter puts the program in force on all threads.
func filter(n Needs, _ bool) error {
	if err := hasFilter(); err != nil {
		return err
	}
	p := filterOf(&n, here, uint32(unix.Getpid()))
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	thread, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	switch {
	case no != 0:
		return no
	case thread != 0:
		return unix.ESRCH // a thread that could not be locked
	}
	return nil
}
