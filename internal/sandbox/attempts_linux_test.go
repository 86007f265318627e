package sandbox_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Descriptors of a child of the test, besides its standard streams.
const (
	openBoth  = 3 // a file that is open to read and write
	openRead  = 4 // the same, open to read
	pairEnd   = 5 // a pair of sockets
	pairOther = 6
)

// A compromised process tries these once it is locked. It is locked before, so it cannot
// allocate code; whatever else a program could do it may.
type attempt struct {
	name string
	try  func(*prisoner) unix.Errno
	// want is the only answer that counts as refused, EPERM if it is zero: any other would
	// say that the call was made, with arguments that the kernel did not like.
	want unix.Errno
	// alone says that Landlock is what refuses it: without it, it may succeed.
	alone bool
}

// A prisoner is the process that tries.
type prisoner struct {
	dir    string
	parent int
	secret int // an O_PATH descriptor, opened before
}

func call(nr uintptr, args ...uintptr) unix.Errno {
	var a [6]uintptr
	copy(a[:], args)
	_, _, no := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return no
}

func text(s string) uintptr {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	kept = append(kept, p)
	return uintptr(unsafe.Pointer(p))
}

var kept []any // what the kernel was given the address of

func room[T any](v T) uintptr {
	p := &v
	kept = append(kept, p)
	return uintptr(unsafe.Pointer(p))
}

// sys is an attempt with one call whose arguments are known before.
func sys(name string, nr uintptr, args ...uintptr) attempt {
	return attempt{name: name, try: func(*prisoner) unix.Errno { return call(nr, args...) }}
}

// toward is an attempt against the parent, whose number is the first argument.
func toward(name string, nr uintptr, args ...uintptr) attempt {
	return attempt{name: name, try: func(p *prisoner) unix.Errno {
		return call(nr, append([]uintptr{uintptr(p.parent)}, args...)...)
	}}
}

// at is an attempt on a path below the folder of the test.
func at(name, path string, nr uintptr, args ...uintptr) attempt {
	return attempt{name: name, try: func(p *prisoner) unix.Errno {
		return call(nr, append([]uintptr{^uintptr(99), text(filepath.Join(p.dir, path))}, args...)...) // AT_FDCWD
	}}
}

const signalSent = unix.SIGUSR2

// signalByFile makes the kernel signal the parent about a socket.
func signalByFile(p *prisoner) unix.Errno {
	for _, a := range [][2]uintptr{{unix.F_SETOWN, uintptr(p.parent)}, {unix.F_SETSIG, uintptr(signalSent)}, {unix.F_SETFL, unix.O_ASYNC | unix.O_NONBLOCK}} {
		if no := call(unix.SYS_FCNTL, pairEnd, a[0], a[1]); no != 0 {
			return no
		}
	}
	return call(unix.SYS_WRITE, pairOther, text("x"), 1)
}

// writeByMapping writes to a file through memory.
func writeByMapping(prot, later, flags uintptr) func(*prisoner) unix.Errno {
	return func(*prisoner) unix.Errno {
		m, _, no := unix.Syscall6(sysMmap, 0, 4096, prot, flags, openBoth, 0)
		if no != 0 {
			return no
		}
		if later != 0 {
			if no := call(unix.SYS_MPROTECT, m, 4096, later); no != 0 {
				return no
			}
		}
		// The kernel copies into it, since the test may not make a pointer of a number.
		return call(unix.SYS_PREAD64, openRead, m, 4, 4)
	}
}

var both = uintptr(unix.PROT_READ | unix.PROT_WRITE)

func attempts() []attempt {
	return []attempt{
		// Programs and processes.
		sys("run a program", unix.SYS_EXECVE, text("/bin/true"), room([2]uintptr{text("true")}), 0),
		sys("run an open file", unix.SYS_EXECVEAT, openRead, text(""), room([2]uintptr{text("x")}), 0, unix.AT_EMPTY_PATH),
		sys("fork", unix.SYS_CLONE, uintptr(unix.SIGCHLD)),
		sys("make a thread in a new namespace", unix.SYS_CLONE, 0x50f00|unix.CLONE_NEWUSER),
		{name: "fork with clone3", want: unix.ENOSYS, try: func(*prisoner) unix.Errno {
			return call(unix.SYS_CLONE3, room([11]uint64{4: uint64(unix.SIGCHLD)}), 88)
		}},
		// Files.
		{name: "read another file", alone: true, want: unix.EACCES, try: func(p *prisoner) unix.Errno {
			return call(unix.SYS_OPENAT, ^uintptr(99), text(filepath.Join(p.dir, "secret")), unix.O_RDONLY)
		}},
		{name: "read it through its descriptor", alone: true, want: unix.EACCES, try: func(p *prisoner) unix.Errno {
			return call(unix.SYS_OPENAT, ^uintptr(99), text(fmt.Sprintf("/proc/self/fd/%d", p.secret)), unix.O_RDONLY)
		}},
		at("open a file to write", "in/file", unix.SYS_OPENAT, unix.O_RDWR),
		at("open for ioctl", "in/file", unix.SYS_OPENAT, 3),
		at("make a file", "in/new", unix.SYS_OPENAT, unix.O_CREAT, 0o666),
		at("make a file without a name", "in", unix.SYS_OPENAT, unix.O_TMPFILE|unix.O_WRONLY, 0o666),
		at("empty a file", "in/file", unix.SYS_OPENAT, unix.O_TRUNC),
		sys("write its own code", unix.SYS_OPENAT, ^uintptr(99), text("/proc/self/mem"), unix.O_RDWR),
		sys("open what it may read again to write", unix.SYS_OPENAT, ^uintptr(99), text("/proc/self/fd/4"), unix.O_RDWR),
		{name: "open with openat2", want: unix.ENOSYS, try: func(p *prisoner) unix.Errno {
			return call(unix.SYS_OPENAT2, ^uintptr(99), text(filepath.Join(p.dir, "secret")), room([3]uint64{}), 24)
		}},
		at("name a handle", "secret", unix.SYS_NAME_TO_HANDLE_AT, room([40]uint32{128}), room(int32(0)), 0),
		sys("open by a handle", unix.SYS_OPEN_BY_HANDLE_AT, openRead, room([40]uint32{8}), 0),
		at("make a folder", "in/folder", unix.SYS_MKDIRAT, 0o777),
		at("make a device", "in/device", unix.SYS_MKNODAT, unix.S_IFIFO|0o666),
		at("remove a file", "in/file", unix.SYS_UNLINKAT),
		{name: "rename a file", try: func(p *prisoner) unix.Errno {
			return call(unix.SYS_RENAMEAT2, ^uintptr(99), text(filepath.Join(p.dir, "in/file")), ^uintptr(99), text(filepath.Join(p.dir, "in/moved")), 0)
		}},
		{name: "link a file", try: func(p *prisoner) unix.Errno {
			return call(unix.SYS_LINKAT, ^uintptr(99), text(filepath.Join(p.dir, "secret")), ^uintptr(99), text(filepath.Join(p.dir, "in/linked")), 0)
		}},
		{name: "link to a file", try: func(p *prisoner) unix.Errno {
			return call(unix.SYS_SYMLINKAT, text("secret"), ^uintptr(99), text(filepath.Join(p.dir, "in/link")))
		}},
		at("change a mode", "in/file", unix.SYS_FCHMODAT, 0o777),
		at("change an owner", "in/file", unix.SYS_FCHOWNAT, 0, 0, 0),
		at("change a time", "in/file", unix.SYS_UTIMENSAT, 0, 0),
		sys("change the mode of what is open", unix.SYS_FCHMOD, openBoth, 0o777),
		sys("cut what is open", unix.SYS_FTRUNCATE, openBoth, 0),
		sys("set an attribute", unix.SYS_FSETXATTR, openBoth, text("user.x"), text("y"), 1, 0),
		{name: "write to what is open to read", want: unix.EBADF, try: func(*prisoner) unix.Errno { return call(unix.SYS_PWRITE64, openRead, text("x"), 1, 0) }},
		sys("copy into what is open", unix.SYS_COPY_FILE_RANGE, openRead, 0, openBoth, 0, 4, 0),
		sys("splice into what is open", unix.SYS_SENDFILE, openBoth, openRead, 0, 4),
		{name: "write through a mapping", try: writeByMapping(both, 0, unix.MAP_SHARED)},
		{name: "write through a validated mapping", try: writeByMapping(both, 0, unix.MAP_SHARED_VALIDATE)},
		{name: "write through a mapping that was to read", try: writeByMapping(unix.PROT_READ, both, unix.MAP_SHARED)},
		sys("share memory with nobody yet", unix.SYS_MMAP, 0, 4096, both, unix.MAP_SHARED|unix.MAP_ANON, ^uintptr(0)),
		sys("watch a file", unix.SYS_INOTIFY_INIT1, 0),
		sys("watch all files", unix.SYS_FANOTIFY_INIT, 0, 0),
		// Code.
		sys("map code", unix.SYS_MMAP, 0, 4096, both|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON, ^uintptr(0)),
		sys("map a file as code", unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE, openRead),
		{name: "make memory code", try: func(*prisoner) unix.Errno {
			m, _, no := unix.Syscall6(sysMmap, 0, 4096, both, unix.MAP_PRIVATE|unix.MAP_ANON, ^uintptr(0), 0)
			if no != 0 {
				return 0 // it may have memory
			}
			return call(unix.SYS_MPROTECT, m, 4096, unix.PROT_READ|unix.PROT_EXEC)
		}},
		sys("make memory code by a key", unix.SYS_PKEY_MPROTECT, 0, 4096, unix.PROT_EXEC, ^uintptr(0)),
		sys("make a file of memory", unix.SYS_MEMFD_CREATE, text("x"), 0),
		sys("make a secret file of memory", unix.SYS_MEMFD_SECRET, 0),
		sys("execute what is readable", unix.SYS_PERSONALITY, 0x0400000),
		sys("move memory", unix.SYS_MREMAP, 0, 0, 4096, unix.MREMAP_MAYMOVE),
		sys("poison memory", unix.SYS_MADVISE, 0, 4096, unix.MADV_HWPOISON),
		// Other processes.
		toward("signal its parent", unix.SYS_KILL, uintptr(signalSent)),
		toward("signal a thread of it", unix.SYS_TKILL, uintptr(signalSent)),
		{name: "signal it as a group", try: func(p *prisoner) unix.Errno {
			return call(unix.SYS_TGKILL, uintptr(p.parent), uintptr(p.parent), uintptr(signalSent))
		}},
		toward("queue a signal", unix.SYS_RT_SIGQUEUEINFO, uintptr(signalSent), room([16]uint64{})),
		{name: "queue one for a thread", try: func(p *prisoner) unix.Errno {
			return call(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(p.parent), uintptr(p.parent), uintptr(signalSent), room([16]uint64{}))
		}},
		{name: "be signalled about a file in its parent's name", try: signalByFile},
		{name: "own a file's signals", try: func(p *prisoner) unix.Errno {
			return call(unix.SYS_FCNTL, pairEnd, unix.F_SETOWN_EX, room([2]int32{1, int32(p.parent)}))
		}},
		sys("choose the signal", unix.SYS_FCNTL, pairEnd, unix.F_SETSIG, uintptr(signalSent)),
		sys("be signalled about input", unix.SYS_FCNTL, pairEnd, unix.F_SETFL, unix.O_ASYNC),
		sys("be signalled by ioctl", unix.SYS_IOCTL, pairEnd, 0x5452 /* FIOASYNC */, room(int32(1))),
		{name: "own signals by ioctl", try: func(p *prisoner) unix.Errno {
			return call(unix.SYS_IOCTL, pairEnd, 0x8901 /* FIOSETOWN */, room(int32(p.parent)))
		}},
		{name: "own signals by the older ioctl", try: func(p *prisoner) unix.Errno {
			return call(unix.SYS_IOCTL, pairEnd, 0x8902 /* SIOCSPGRP */, room(int32(p.parent)))
		}},
		sys("take a lease", unix.SYS_FCNTL, openRead, unix.F_SETLEASE, unix.F_RDLCK),
		sys("be told of a folder", unix.SYS_FCNTL, openRead, unix.F_NOTIFY, 1),
		sys("seal what is open", unix.SYS_FCNTL, openBoth, unix.F_ADD_SEALS, 1),
		sys("signal by a timer", unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, room([8]uint64{}), room(int32(0))),
		{name: "trace its parent", try: func(p *prisoner) unix.Errno {
			return call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(p.parent), 0, 0)
		}},
		{name: "seize its parent", try: func(p *prisoner) unix.Errno { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(p.parent), 0, 0) }},
		sys("be traced", unix.SYS_PTRACE, unix.PTRACE_TRACEME),
		toward("read its parent", unix.SYS_PROCESS_VM_READV, 0, 0, 0, 0, 0),
		toward("write its parent", unix.SYS_PROCESS_VM_WRITEV, 0, 0, 0, 0, 0),
		toward("hold its parent", unix.SYS_PIDFD_OPEN, 0),
		sys("signal what it holds", unix.SYS_PIDFD_SEND_SIGNAL, openRead, uintptr(signalSent), 0, 0),
		sys("take a descriptor of what it holds", unix.SYS_PIDFD_GETFD, openRead, 0, 0),
		sys("advise what it holds", unix.SYS_PROCESS_MADVISE, openRead, 0, 0, 21, 0),
		toward("compare with its parent", unix.SYS_KCMP, 1, 0, 0, 0),
		toward("limit its parent", unix.SYS_PRLIMIT64, unix.RLIMIT_NOFILE, room([2]uint64{10, 10}), 0),
		toward("read its parent's limits", unix.SYS_PRLIMIT64, unix.RLIMIT_NOFILE, 0, room([2]uint64{})),
		sys("raise a limit", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, room([2]uint64{10, 10}), 0),
		sys("slow its parent", unix.SYS_SETPRIORITY, 0, 0, 19),
		toward("bind its parent", unix.SYS_SCHED_SETAFFINITY, 0, 0),
		toward("schedule its parent", unix.SYS_SCHED_SETSCHEDULER, 0, 0),
		toward("join its parent's group", unix.SYS_SETPGID, 0),
		// Sockets.
		sys("open TCP", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0),
		sys("open TCP 6", unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM, 0),
		sys("open UDP", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM, 0),
		sys("open a unix socket", unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0),
		sys("open netlink", unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 0),
		sys("open a packet socket", unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW, 0),
		sys("open a socket to the host", unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		sys("open crypto of the kernel", unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
		sys("open a pair", unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, room([2]int32{})),
		{name: "connect to a name without a file", try: func(p *prisoner) unix.Errno {
			name := fmt.Sprintf("\x01\x00\x00amn-escape-%d", p.parent)
			return call(unix.SYS_CONNECT, pairEnd, text(strings.ReplaceAll(name, "\x00", "\x01")), uintptr(len(name)))
		}},
		sys("pass a descriptor on", unix.SYS_SENDMSG, pairEnd, room([7]uintptr{}), 0),
		sys("send to somebody", unix.SYS_SENDTO, pairEnd, text("x"), 1, 0, 0, 0),
		sys("attach a filter", unix.SYS_SETSOCKOPT, pairEnd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, room([2]uintptr{}), 16),
		sys("pass credentials", unix.SYS_SETSOCKOPT, pairEnd, unix.SOL_SOCKET, unix.SO_PASSCRED, room(int32(1)), 4),
		// Shared things of System V and POSIX.
		sys("share memory", unix.SYS_SHMGET, 4711, 4096, 0o1666),
		sys("attach shared memory", unix.SYS_SHMAT, 0, 0, 0),
		sys("share a semaphore", unix.SYS_SEMGET, 4711, 1, 0o1666),
		sys("share a queue", unix.SYS_MSGGET, 4711, 0o1666),
		sys("open a message queue", unix.SYS_MQ_OPEN, text("amn-escape"), unix.O_CREAT|unix.O_RDWR, 0o600, 0),
		// The kernel.
		sys("queue calls", unix.SYS_IO_URING_SETUP, 1, room([30]uint32{})),
		sys("queue reads", unix.SYS_IO_SETUP, 1, room(uintptr(0))),
		sys("handle faults", unix.SYS_USERFAULTFD, 1),
		sys("load BPF", unix.SYS_BPF, 0, room([16]uint64{}), 128),
		sys("count events", unix.SYS_PERF_EVENT_OPEN, room([16]uint64{}), 0, ^uintptr(0), ^uintptr(0), 0),
		sys("add a key", unix.SYS_ADD_KEY, text("user"), text("x"), text("y"), 1, ^uintptr(2)),
		sys("ask for a key", unix.SYS_REQUEST_KEY, text("user"), text("x"), 0, 0),
		sys("change a key", unix.SYS_KEYCTL, 0, 0, 0),
		sys("leave its namespaces", unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		sys("enter a namespace", unix.SYS_SETNS, openRead, 0),
		sys("mount", unix.SYS_MOUNT, text("none"), text("/nowhere"), text("tmpfs"), 0, 0),
		sys("unmount", unix.SYS_UMOUNT2, text("/nowhere"), 0),
		sys("open a file system", unix.SYS_FSOPEN, text("tmpfs"), 0),
		sys("open a tree", unix.SYS_OPEN_TREE, ^uintptr(99), text("/"), 1),
		sys("move a mount", unix.SYS_MOVE_MOUNT, openRead, text(""), openRead, text(""), 0),
		sys("change its root", unix.SYS_CHROOT, text("/nowhere")),
		sys("swap roots", unix.SYS_PIVOT_ROOT, text("/nowhere"), text("/nowhere")),
		sys("be dumped", unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1),
		sys("let others trace it", unix.SYS_PRCTL, unix.PR_SET_PTRACER, ^uintptr(0)),
		sys("change its memory's map", unix.SYS_PRCTL, unix.PR_SET_MM, 0, 0, 0, 0),
		sys("keep capabilities", unix.SYS_PRCTL, unix.PR_SET_KEEPCAPS, 1),
		sys("add a filter that tells", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, 0),
		sys("become root", unix.SYS_SETUID, 0),
		sys("join a group", unix.SYS_SETGROUPS, 0, 0),
		sys("take capabilities", unix.SYS_CAPSET, 0, 0),
		sys("type into the terminal", unix.SYS_IOCTL, 0, unix.TIOCSTI, room(byte(' '))),
		sys("take the terminal", unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 0),
		sys("leave its session", unix.SYS_SETSID),
		sys("hang the terminal up", unix.SYS_VHANGUP),
		sys("read the kernel's log", unix.SYS_SYSLOG, 10, 0, 0),
		sys("restart the machine", unix.SYS_REBOOT, 0, 0, 0, 0),
		sys("load a module", unix.SYS_INIT_MODULE, 0, 0, 0),
		sys("load another kernel", unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xffff),
		sys("set a quota", unix.SYS_QUOTACTL, 0, 0, 0, 0),
		sys("swap", unix.SYS_SWAPON, text("/nowhere"), 0),
		sys("keep accounts", unix.SYS_ACCT, text("/nowhere")),
		sys("name the host", unix.SYS_SETHOSTNAME, 0, 65),
		sys("set the clock", unix.SYS_CLOCK_SETTIME, 99, 0),
		{name: "call by the numbers of x32", try: func(*prisoner) unix.Errno {
			if runtime.GOARCH != "amd64" {
				return unix.EPERM
			}
			return call(unix.SYS_GETPID | 0x4000_0000)
		}},
	}
}
