//go:build linux && (amd64 || arm64)

package sandbox

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What Go's runtime asks for, and reading files.
var always = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_PREADV, unix.SYS_PWRITEV,
	unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_STATX, unix.SYS_LSEEK, unix.SYS_GETDENTS64, unix.SYS_READLINKAT, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2,
	unix.SYS_FCNTL, unix.SYS_DUP3, unix.SYS_FADVISE64, unix.SYS_GETCWD, unix.SYS_STATFS, unix.SYS_FSTATFS,
	unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_BRK, unix.SYS_MINCORE,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_UNAME, unix.SYS_SYSINFO,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETRANDOM, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_MEMBARRIER,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2, unix.SYS_PPOLL,
	unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// What writes and replaces files.
var writing = []uint32{
	unix.SYS_OPENAT, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FCHMOD, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2,
}

// What answers on sockets that are open.
var serving = []uint32{
	unix.SYS_ACCEPT4, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_SETSOCKOPT, unix.SYS_GETSOCKOPT, unix.SYS_SHUTDOWN, unix.SYS_RECVFROM, unix.SYS_RECVMSG,
}

// What has an older call in its place, which is asked for next.
var tooNew = []uint32{unix.SYS_CLONE3, unix.SYS_OPENAT2}

// opens are flags of open that change something.
const opens = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND | unix.O_TMPFILE&^unix.O_DIRECTORY

const (
	allowed = unix.SECCOMP_RET_ALLOW
	refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// A program is one of classic BPF over the number of a system call and its arguments.
type program []unix.SockFilter

func (p *program) add(code uint16, k uint32, yes, no uint8) {
	*p = append(*p, unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no})
}

func (p *program) ret(k uint32) { p.add(unix.BPF_RET|unix.BPF_K, k, 0, 0) }

// load takes the low half of an argument, or what stands at an offset before them.
func (p *program) load(off uint32) { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, off, 0, 0) }

func arg(n uint32) uint32 { return 16 + 8*n }

// when ends with ret if the call has this number.
func (p *program) when(nr, ret uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, nr, 0, 1)
	p.ret(ret)
}

// check runs the instructions of inner for a number, which all end.
func (p *program) check(nr uint32, inner program) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, nr, 0, uint8(len(inner)))
	*p = append(*p, inner...)
}

// without allows a call whose argument has none of these bits.
func without(n, bits uint32) (p program) {
	p.load(arg(n))
	p.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, bits, 0, 1)
	p.ret(refused)
	p.ret(allowed)
	return p
}

// is allows a call whose argument's low half is one of these.
func is(n uint32, values ...uint32) (p program) {
	p.load(arg(n))
	for _, v := range values {
		p.when(v, allowed)
	}
	p.ret(refused)
	return p
}

// with allows a call whose argument has all of one bit.
func with(n, bit uint32) (p program) {
	p.load(arg(n))
	p.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, bit, 1, 0)
	p.ret(refused)
	p.ret(allowed)
	return p
}

// nothing allows a call whose argument is zero, both of its halves.
func nothing(n uint32) (p program) {
	p.load(arg(n))
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 1, 0)
	p.ret(refused)
	p.load(arg(n) + 4)
	p.when(0, allowed)
	p.ret(refused)
	return p
}

// filterOf is the program for what is needed.
func filterOf(n Needs) (p program) {
	p.load(4) // the architecture
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditArch, 1, 0)
	p.ret(unix.SECCOMP_RET_KILL_PROCESS)
	p.load(0) // the number; that of x32 is in no list
	list := slices.Concat(always, alwaysHere)
	if len(n.Write) > 0 {
		list = append(list, writing...)
	}
	if len(n.Write)+len(n.Remove) > 0 {
		list = append(list, unix.SYS_UNLINKAT)
	}
	if n.Serve {
		list = append(list, serving...)
	}
	for _, nr := range list {
		p.when(nr, allowed)
	}
	for _, nr := range tooNew {
		p.when(nr, unknown)
	}
	if len(n.Write) == 0 {
		p.check(unix.SYS_OPENAT, without(2, opens))
	}
	p.check(unix.SYS_MMAP, without(2, unix.PROT_EXEC))
	p.check(unix.SYS_MPROTECT, without(2, unix.PROT_EXEC))
	p.check(unix.SYS_CLONE, with(0, unix.CLONE_THREAD))
	p.check(unix.SYS_IOCTL, is(1, unix.TCGETS, unix.TIOCGWINSZ))
	p.check(unix.SYS_TGKILL, is(0, uint32(unix.Getpid())))
	p.check(unix.SYS_PRLIMIT64, nothing(2))
	p.ret(refused)
	return p
}

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
	p := filterOf(n)
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
