package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// The older calls that runtimes of this processor still use.
var alwaysHere = []uint32{unix.SYS_NEWFSTATAT, unix.SYS_EPOLL_WAIT, unix.SYS_POLL, unix.SYS_READLINK, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_TIME}
