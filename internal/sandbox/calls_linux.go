package sandbox

import "golang.org/x/sys/unix"

// An abi is a table of numbers of system calls.
type abi uint8

const (
	amd64 abi = iota
	arm64
	abis
)

// none is the number of a call that an abi does not have.
const none = -1

// A use says which of a process's needs a call serves.
type use uint8

const (
	running  use = iota // Go's runtime, and reading
	reading             // only if it writes nothing
	writing             // files
	naming              // files that are written or published
	removing            // files
	serving             // sockets that are open
)

// A call is a system call that is allowed, if one of the alternatives holds; without any it
// is allowed with all arguments. Calls that are not listed are refused.
type call struct {
	name string
	nr   [abis]int32
	use  use
	any  [][]condition
}

// Flags of open, of both processors, whose values differ: each also stands for O_DIRECT or
// O_LARGEFILE of the other.
const (
	opensFolder = 0x10000 | 0x4000                                                                                                 // O_DIRECTORY
	followsNot  = 0x20000 | 0x8000                                                                                                 // O_NOFOLLOW
	opensFile   = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_TRUNC | unix.O_APPEND | unix.O_SYNC | 0x400000 /* O_TMPFILE */
	opensToRead = unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_PATH | opensFolder | followsNot
)

// mapDroppable is memory that the kernel may drop; it has no file. Go keeps the state of
// random numbers in it.
const mapDroppable = 8

// threadFlags are the flags with which a runtime makes a thread of this process.
var threadFlags = []uint32{
	0x050f00, // Go: VM, FS, FILES, SIGHAND, SYSVSEM, THREAD
	0x0d0f00, // Go on amd64: and SETTLS
	0x3d0f00, // glibc: and PARENT_SETTID, CHILD_CLEARTID
	0x7d0f00, // musl: and DETACHED
}

// calls lists what is allowed, as Go's runtime for linux asks for it (runtime/sys_linux_*.s,
// internal/runtime/syscall, net, os), and as glibc and musl do for programs that link C.
// Those with conditions say why nothing more is.
var calls = []call{
	{"read", [abis]int32{0, 63}, running, nil},
	{"write", [abis]int32{1, 64}, running, nil},
	{"readv", [abis]int32{19, 65}, running, nil},
	{"writev", [abis]int32{20, 66}, running, nil},
	{"pread64", [abis]int32{17, 67}, running, nil},
	{"pwrite64", [abis]int32{18, 68}, running, nil},
	{"preadv", [abis]int32{295, 69}, running, nil},
	{"pwritev", [abis]int32{296, 70}, running, nil},
	{"close", [abis]int32{3, 57}, running, nil},
	{"fstat", [abis]int32{5, 80}, running, nil},
	{"newfstatat", [abis]int32{262, 79}, running, nil},
	{"stat", [abis]int32{4, none}, running, nil},
	{"lstat", [abis]int32{6, none}, running, nil},
	{"statx", [abis]int32{332, 291}, running, nil},
	{"statfs", [abis]int32{137, 43}, running, nil},
	{"fstatfs", [abis]int32{138, 44}, running, nil},
	{"lseek", [abis]int32{8, 62}, running, nil},
	{"getdents64", [abis]int32{217, 61}, running, nil},
	{"readlink", [abis]int32{89, none}, running, nil},
	{"readlinkat", [abis]int32{267, 78}, running, nil},
	{"faccessat", [abis]int32{269, 48}, running, nil},
	{"faccessat2", [abis]int32{439, 439}, running, nil},
	{"fadvise64", [abis]int32{221, 223}, running, nil},
	{"getcwd", [abis]int32{79, 17}, running, nil},
	{"dup3", [abis]int32{292, 24}, running, nil},
	{"pipe2", [abis]int32{293, 59}, running, nil},
	{"eventfd2", [abis]int32{290, 19}, running, nil},
	{"epoll_create1", [abis]int32{291, 20}, running, nil},
	{"epoll_ctl", [abis]int32{233, 21}, running, nil},
	{"epoll_wait", [abis]int32{232, none}, running, nil},
	{"epoll_pwait", [abis]int32{281, 22}, running, nil},
	{"poll", [abis]int32{7, none}, running, nil},
	{"ppoll", [abis]int32{271, 73}, running, nil},
	{"munmap", [abis]int32{11, 215}, running, nil},
	{"brk", [abis]int32{12, 214}, running, nil},
	{"mincore", [abis]int32{27, 232}, running, nil},
	{"rt_sigaction", [abis]int32{13, 134}, running, nil},
	{"rt_sigprocmask", [abis]int32{14, 135}, running, nil},
	{"rt_sigreturn", [abis]int32{15, 139}, running, nil},
	{"sigaltstack", [abis]int32{131, 132}, running, nil},
	{"restart_syscall", [abis]int32{219, 128}, running, nil},
	{"futex", [abis]int32{202, 98}, running, nil},
	{"set_robust_list", [abis]int32{273, 99}, running, nil},
	{"rseq", [abis]int32{334, 293}, running, nil},
	{"membarrier", [abis]int32{324, 283}, running, nil},
	{"sched_yield", [abis]int32{24, 124}, running, nil},
	{"sched_getaffinity", [abis]int32{204, 123}, running, nil},
	{"nanosleep", [abis]int32{35, 101}, running, nil},
	{"clock_nanosleep", [abis]int32{230, 115}, running, nil},
	{"clock_gettime", [abis]int32{228, 113}, running, nil},
	{"clock_getres", [abis]int32{229, 114}, running, nil},
	{"gettimeofday", [abis]int32{96, 169}, running, nil},
	{"time", [abis]int32{201, none}, running, nil},
	{"getpid", [abis]int32{39, 172}, running, nil},
	{"gettid", [abis]int32{186, 178}, running, nil},
	{"getuid", [abis]int32{102, 174}, running, nil},
	{"geteuid", [abis]int32{107, 175}, running, nil},
	{"getgid", [abis]int32{104, 176}, running, nil},
	{"getegid", [abis]int32{108, 177}, running, nil},
	{"uname", [abis]int32{63, 160}, running, nil},
	{"sysinfo", [abis]int32{99, 179}, running, nil},
	{"getrandom", [abis]int32{318, 278}, running, nil},
	{"exit", [abis]int32{60, 93}, running, nil},
	{"exit_group", [abis]int32{231, 94}, running, nil},

	{"ftruncate", [abis]int32{77, 46}, writing, nil},
	{"fallocate", [abis]int32{285, 47}, writing, nil},
	{"fsync", [abis]int32{74, 82}, naming, nil},
	{"fdatasync", [abis]int32{75, 83}, naming, nil},
	{"renameat", [abis]int32{264, 38}, naming, nil},
	{"renameat2", [abis]int32{316, 276}, naming, nil},
	{"unlinkat", [abis]int32{263, 35}, removing, nil},

	{"accept4", [abis]int32{288, 242}, serving, nil},
	{"getsockname", [abis]int32{51, 204}, serving, nil},
	{"getpeername", [abis]int32{52, 205}, serving, nil},
	{"getsockopt", [abis]int32{55, 209}, serving, nil},
	{"shutdown", [abis]int32{48, 210}, serving, nil},
	{"recvfrom", [abis]int32{45, 207}, serving, nil},
	{"recvmsg", [abis]int32{47, 212}, serving, nil},

	// Flags that are known, so none that makes, changes or signals.
	{"openat", [abis]int32{257, 56}, reading, [][]condition{{within(2, opensToRead)}}},
	// No set-user-id bits, which a locked process of root could leave for others.
	{"openat", [abis]int32{257, 56}, writing, [][]condition{{within(2, opensToRead|opensFile), within(3, 0o777)}}},
	{"fchmod", [abis]int32{91, 52}, writing, [][]condition{{within(1, 0o777)}}},
	// No owner of signals, no leases, no notices, and no flags: O_ASYNC signals, and without
	// O_APPEND an inherited log could be overwritten.
	{"fcntl", [abis]int32{72, 25}, running, [][]condition{{is(1, unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL)}}},
	// No code, and nothing shared: through a shared mapping a file is written, by whoever has
	// a descriptor for both, whatever other calls say; mprotect comes later.
	{"mmap", [abis]int32{9, 222}, running, [][]condition{{within(2, unix.PROT_READ|unix.PROT_WRITE), masked(3, unix.MAP_TYPE, unix.MAP_PRIVATE, mapDroppable)}}},
	{"mprotect", [abis]int32{10, 226}, running, [][]condition{{within(2, unix.PROT_READ|unix.PROT_WRITE)}}},
	// Not MADV_HWPOISON, with which root takes memory from the machine.
	{"madvise", [abis]int32{28, 233}, running, [][]condition{{is(2, unix.MADV_DONTNEED, unix.MADV_FREE, unix.MADV_HUGEPAGE, unix.MADV_NOHUGEPAGE, unix.MADV_COLLAPSE)}}},
	{"clone", [abis]int32{56, 220}, running, [][]condition{{is(0, threadFlags...)}}},
	{"ioctl", [abis]int32{16, 29}, running, [][]condition{{is(1, unix.TCGETS, unix.TIOCGWINSZ)}}},
	{"tgkill", [abis]int32{234, 131}, running, [][]condition{{own(0)}}},
	// Its own limits, and only to read them.
	{"prlimit64", [abis]int32{302, 261}, running, [][]condition{{is(0, 0), nothing(2)}}},
	// What net sets on a connection; no filter, no other protocol below it.
	{"setsockopt", [abis]int32{54, 208}, serving, [][]condition{
		{is(1, unix.SOL_SOCKET), is(2, unix.SO_KEEPALIVE, unix.SO_LINGER, unix.SO_RCVBUF, unix.SO_SNDBUF)},
		{is(1, unix.IPPROTO_TCP), is(2, unix.TCP_NODELAY, unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT, unix.TCP_USER_TIMEOUT)},
	}},
}

// tooNew have an older call in their place, which is asked for next.
var tooNew = [...][abis]int32{
	{435, 435}, // clone3
	{437, 437}, // openat2
}

// serves reports whether a process with these needs has the use.
func (n *Needs) serves(u use) bool {
	switch u {
	case running:
		return true
	case reading:
		return len(n.Write) == 0
	case writing:
		return len(n.Write) > 0
	case naming:
		return len(n.Write)+len(n.Publish) > 0
	case removing:
		return len(n.Write)+len(n.Publish)+len(n.Remove) > 0
	case serving:
		return n.Serve
	}
	return false
}
