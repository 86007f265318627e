package sandbox

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var abiNames = [abis]string{amd64: "amd64", arm64: "arm64"}

// numbers are the system calls of a processor, as x/sys lists them for it.
func numbers(t *testing.T, on abi) map[string]uint32 {
	t.Helper()
	if all := known[on]; all != nil {
		return all
	}
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_"+abiNames[on]+".go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uint32{}
	for _, m := range regexp.MustCompile(`(?m)^\s+SYS_(\w+)\s+= (\d+)$`).FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.ParseUint(m[2], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.ToLower(m[1])] = uint32(n)
	}
	if len(all) < 300 {
		t.Fatalf("%d system calls", len(all))
	}
	known[on] = all
	return all
}

var known [abis]map[string]uint32

// A sysCall is what the kernel shows a program: struct seccomp_data.
type sysCall struct {
	nr, audit uint32
	args      [6]uint64
}

func (c *sysCall) word(off uint32) uint32 {
	switch {
	case off == 0:
		return c.nr
	case off == 4:
		return c.audit
	case off >= 16 && off%4 == 0 && off < 64:
		return uint32(c.args[(off-16)/8] >> (off % 8 * 8))
	}
	panic(fmt.Sprint("load at ", off))
}

// run interprets a program as the kernel does, and refuses what the kernel would not load.
func (p program) run(t *testing.T, c *sysCall) uint32 {
	t.Helper()
	var a uint32
	for pc := 0; pc < len(p); pc++ {
		i := p[pc]
		jump := func(yes bool) {
			if by := int(i.Jf); yes {
				pc += int(i.Jt)
			} else {
				pc += by
			}
		}
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = c.word(i.K)
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= i.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == i.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(a&i.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		default:
			t.Fatalf("instruction %d has the code %#x", pc, i.Code)
		}
	}
	t.Fatal("the program runs over its end")
	return 0
}

// needs are those of the commands: inspect and scan, scan of standard input, serve, judge-one.
var needs = map[string]Needs{
	"nothing": {}, "read": {Read: []string{"a"}}, "write": {Write: []string{"a"}}, "remove": {Remove: []string{"a"}}, "publish": {Publish: []string{"a"}},
	"serve": {Serve: true}, "all": {Read: []string{"a"}, Write: []string{"a"}, Publish: []string{"a"}, Remove: []string{"a"}, Serve: true},
}

const itself = 4711

// What may be asked for with some arguments, in each of the uses; by name, so that the list
// is read by people and compared with both processors.
var expected = map[use]string{
	running: `brk clock_getres clock_gettime clock_nanosleep clone close dup3 epoll_create1 epoll_ctl epoll_pwait epoll_wait
		eventfd2 exit exit_group faccessat faccessat2 fadvise64 fcntl fstat fstatfs futex getcwd getdents64 getegid geteuid getgid
		getpid getrandom gettid gettimeofday getuid ioctl lseek lstat madvise membarrier mincore mmap mprotect munmap nanosleep
		newfstatat openat pipe2 poll ppoll pread64 preadv prlimit64 pwrite64 pwritev read readlink readlinkat readv restart_syscall
		rseq rt_sigaction rt_sigprocmask rt_sigreturn sched_getaffinity sched_yield set_robust_list sigaltstack stat statfs statx
		sysinfo tgkill time uname write writev`,
	writing:  `fallocate fchmod fdatasync fsync ftruncate renameat renameat2 unlinkat`,
	naming:   `fdatasync fsync renameat renameat2 unlinkat`,
	removing: `unlinkat`,
	serving:  `accept4 getpeername getsockname getsockopt recvfrom recvmsg setsockopt shutdown`,
}

// The filter of each processor allows by number what is expected by name, and nothing else:
// every other number up to 1,000, of x32 and of another processor is refused.
func TestTheFilterAllowsWhatIsListedOnBothProcessors(t *testing.T) {
	for on := range abis {
		all := numbers(t, on)
		for what, n := range needs {
			t.Run(abiNames[on]+"/"+what, func(t *testing.T) {
				p := filterOf(&n, on, itself)
				if len(p) > unix.BPF_MAXINSNS {
					t.Fatalf("%d instructions", len(p))
				}
				var may []string
				for u, names := range expected {
					if n.serves(u) {
						may = append(may, strings.Fields(names)...)
					}
				}
				byNumber := map[uint32]string{}
				for name, nr := range all {
					if name == "fstatat" {
						continue // newfstatat, by another name
					}
					byNumber[nr] = name
				}
				for nr := range uint32(1000) {
					name := byNumber[nr]
					got := allowedWithSome(t, p, on, nr)
					if want := slices.Contains(may, name); got != want {
						t.Errorf("%d, %q: allowed %v", nr, name, got)
					}
					for _, other := range []sysCall{{nr: nr | 0x4000_0000, audit: audit[on]}, {nr: nr | 0x8000_0000, audit: audit[on]}} {
						if ret := p.run(t, &other); ret != refused {
							t.Errorf("%#x: %#x", other.nr, ret)
						}
					}
					for _, other := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, audit[1-on], 0} {
						if ret := p.run(t, &sysCall{nr: nr, audit: other}); ret != unix.SECCOMP_RET_KILL_PROCESS {
							t.Errorf("%d of %#x: %#x", nr, other, ret)
						}
					}
				}
				for _, name := range may {
					if _, ok := all[name]; !ok && on == amd64 {
						t.Errorf("%s is no system call", name)
					}
				}
			})
		}
	}
}

// allowedWithSome reports whether a call is allowed with any of the arguments in shapes.
func allowedWithSome(t *testing.T, p program, on abi, nr uint32) bool {
	for _, args := range slices.Concat(slices.Collect(maps.Values(shapes))...) {
		switch ret := p.run(t, &sysCall{nr, audit[on], args}); ret {
		case allowed:
			return true
		case refused, unknown:
		default:
			t.Fatalf("%d: %#x", nr, ret)
		}
	}
	return false
}

type args = [6]uint64

// shapes are arguments with which each call with conditions is allowed.
var shapes = map[string][]args{
	"any": {{}}, "fcntl": {{3, unix.F_GETFL}}, "mmap": {{0, 4096, 3, unix.MAP_PRIVATE | unix.MAP_ANON}},
	"madvise": {{0, 4096, unix.MADV_DONTNEED}}, "clone": {{0x50f00}}, "ioctl": {{0, unix.TCGETS}}, "tgkill": {{itself, 1, 0}},
	"setsockopt": {{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}}, "fchmod": {{3, 0o644}},
}

// Arguments decide where a call could do more than is needed.
func TestArgumentsAreFiltered(t *testing.T) {
	const tmpfile = 0x400000
	reads, writes := Needs{}, Needs{Write: []string{"a"}, Serve: true}
	for _, c := range []struct {
		name string
		n    *Needs
		args args
		ok   bool
	}{
		{"openat", &reads, args{0, 0, unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK}, true},
		{"openat", &reads, args{0, 0, unix.O_WRONLY}, false},
		{"openat", &reads, args{0, 0, unix.O_RDWR}, false},
		{"openat", &reads, args{0, 0, unix.O_WRONLY | unix.O_RDWR}, false},
		{"openat", &reads, args{0, 0, unix.O_CREAT}, false},
		{"openat", &reads, args{0, 0, unix.O_TRUNC}, false},
		{"openat", &reads, args{0, 0, tmpfile}, false},
		{"openat", &reads, args{0, 0, unix.O_ASYNC}, false},
		{"openat", &reads, args{0, 0, 1 << 31}, false},
		{"openat", &writes, args{0, 0, unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC, 0o600}, true},
		{"openat", &writes, args{0, 0, unix.O_RDWR | unix.O_CREAT, 0o4755}, false},
		{"openat", &writes, args{0, 0, unix.O_RDWR | unix.O_ASYNC, 0o600}, false},
		{"fchmod", &writes, args{3, 0o755}, true},
		{"fchmod", &writes, args{3, 0o4755}, false},
		{"fchmod", &writes, args{3, 0o2755}, false},
		{"fcntl", &reads, args{3, unix.F_DUPFD_CLOEXEC}, true},
		{"fcntl", &reads, args{3, unix.F_GETFL}, true},
		{"fcntl", &reads, args{3, unix.F_SETOWN, 1}, false},
		{"fcntl", &reads, args{3, unix.F_SETOWN_EX, 1}, false},
		{"fcntl", &reads, args{3, unix.F_SETSIG, 9}, false},
		{"fcntl", &reads, args{3, unix.F_SETLEASE, 1}, false},
		{"fcntl", &reads, args{3, unix.F_NOTIFY, 1}, false},
		{"fcntl", &reads, args{3, unix.F_SETFL, unix.O_ASYNC}, false},
		{"fcntl", &reads, args{3, unix.F_SETFL, 0}, false},
		{"fcntl", &reads, args{3, unix.F_ADD_SEALS, 0}, false},
		{"fcntl", &reads, args{3, unix.F_SETPIPE_SZ, 1 << 20}, false},
		{"fcntl", &reads, args{3, 1<<32 | unix.F_GETFL}, true}, // the kernel drops the high half
		{"mmap", &reads, args{0, 1, unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_FIXED}, true},
		{"mmap", &reads, args{0, 1, unix.PROT_READ | unix.PROT_WRITE, mapDroppable | unix.MAP_ANON}, true},
		{"mmap", &reads, args{0, 1, unix.PROT_NONE, unix.MAP_PRIVATE | unix.MAP_ANON}, true},
		{"mmap", &reads, args{0, 1, unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED}, false},
		{"mmap", &reads, args{0, 1, unix.PROT_READ, unix.MAP_SHARED}, false},
		{"mmap", &reads, args{0, 1, unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED_VALIDATE}, false},
		{"mmap", &reads, args{0, 1, unix.PROT_READ, unix.MAP_SHARED | unix.MAP_ANON}, false},
		{"mmap", &reads, args{0, 1, unix.PROT_READ | unix.PROT_EXEC, unix.MAP_PRIVATE}, false},
		{"mprotect", &reads, args{0, 1, unix.PROT_READ}, true},
		{"mprotect", &reads, args{0, 1, unix.PROT_EXEC}, false},
		{"mprotect", &reads, args{0, 1, unix.PROT_READ | unix.PROT_GROWSDOWN}, false},
		{"madvise", &reads, args{0, 1, unix.MADV_COLLAPSE}, true},
		{"madvise", &reads, args{0, 1, unix.MADV_HWPOISON}, false},
		{"madvise", &reads, args{0, 1, 101 /* MADV_SOFT_OFFLINE */}, false},
		{"clone", &reads, args{0xd0f00}, true},
		{"clone", &reads, args{0x3d0f00}, true},
		{"clone", &reads, args{uint64(unix.SIGCHLD)}, false},
		{"clone", &reads, args{unix.CLONE_VM | unix.CLONE_VFORK | uint64(unix.SIGCHLD)}, false},
		{"clone", &reads, args{0x50f00 | unix.CLONE_NEWUSER}, false},
		{"clone", &reads, args{0x50f00 | unix.CLONE_PIDFD}, false},
		{"ioctl", &reads, args{1, unix.TIOCGWINSZ}, true},
		{"ioctl", &reads, args{1, unix.TIOCSTI}, false},
		{"ioctl", &reads, args{1, 0x5452 /* FIOASYNC */}, false},
		{"ioctl", &reads, args{1, 0x8901 /* FIOSETOWN */}, false},
		{"ioctl", &reads, args{1, 0x8902 /* SIOCSPGRP */}, false},
		{"ioctl", &reads, args{1, unix.TIOCSCTTY}, false},
		{"tgkill", &reads, args{itself, 2, 23}, true},
		{"tgkill", &reads, args{itself + 1, 2, 23}, false},
		{"prlimit64", &reads, args{0, unix.RLIMIT_NOFILE, 0, 1}, true},
		{"prlimit64", &reads, args{0, unix.RLIMIT_NOFILE, 1, 0}, false},
		{"prlimit64", &reads, args{0, unix.RLIMIT_NOFILE, 1 << 32, 0}, false},
		{"prlimit64", &reads, args{1, unix.RLIMIT_NOFILE, 0, 1}, false},
		{"setsockopt", &reads, args{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}, false},
		{"setsockopt", &writes, args{3, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE}, true},
		{"setsockopt", &writes, args{3, unix.SOL_SOCKET, unix.SO_KEEPALIVE}, true},
		{"setsockopt", &writes, args{3, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER}, false},
		{"setsockopt", &writes, args{3, unix.SOL_SOCKET, unix.SO_ATTACH_BPF}, false},
		{"setsockopt", &writes, args{3, unix.IPPROTO_TCP, unix.TCP_ULP}, false},
		{"setsockopt", &writes, args{3, unix.IPPROTO_IP, 1}, false},
	} {
		for on := range abis {
			p := filterOf(c.n, on, itself)
			ret := p.run(t, &sysCall{numbers(t, on)[c.name], audit[on], c.args})
			if ok := ret == allowed; ok != c.ok {
				t.Errorf("%s: %s%#x: %#x", abiNames[on], c.name, c.args, ret)
			}
		}
	}
}

// Calls that reach beyond a process are refused on both processors, whatever the process
// needs; what has an older call in its place says that it does not exist.
func TestWhatReachesBeyondTheProcessIsInNoList(t *testing.T) {
	never := strings.Fields(`execve execveat fork vfork kill tkill rt_sigqueueinfo rt_tgsigqueueinfo ptrace process_vm_readv process_vm_writev
		process_madvise process_mrelease kcmp pidfd_open pidfd_getfd pidfd_send_signal socket socketpair connect bind listen sendto
		sendmsg sendmmsg memfd_create memfd_secret userfaultfd io_uring_setup io_uring_enter io_uring_register io_setup io_submit bpf
		perf_event_open keyctl add_key request_key setns unshare mount umount2 pivot_root chroot move_mount fsopen fsmount open_tree
		mount_setattr name_to_handle_at open_by_handle_at prctl arch_prctl seccomp personality setuid setgid setresuid setgroups capset
		setrlimit setpriority sched_setaffinity sched_setscheduler timer_create shmget shmat semget msgget mq_open init_module
		finit_module delete_module kexec_load reboot syslog quotactl acct swapon sethostname settimeofday clock_settime adjtimex ioperm
		iopl modify_ldt mremap remap_file_pages pkey_mprotect shmdt splice tee vmsplice sendfile copy_file_range fchown fchownat
		fchmodat fchmodat2 utimensat setxattr fsetxattr linkat symlinkat mkdirat mknodat truncate inotify_init1 fanotify_init
		landlock_restrict_self cachestat lookup_dcookie vhangup nfsservctl setsid setpgid flock`)
	for on := range abis {
		all := numbers(t, on)
		seen := 0
		for _, n := range needs {
			p := filterOf(&n, on, itself)
			for _, name := range never {
				nr, ok := all[name]
				if !ok {
					continue
				}
				seen++
				if allowedWithSome(t, p, on, nr) {
					t.Errorf("%s: %s is allowed", abiNames[on], name)
				}
			}
			for _, name := range []string{"clone3", "openat2"} {
				if ret := p.run(t, &sysCall{nr: all[name], audit: audit[on]}); ret != unknown {
					t.Errorf("%s: %s: %#x", abiNames[on], name, ret)
				}
			}
		}
		if seen < 90*len(needs) {
			t.Errorf("%s: only %d of the calls are known", abiNames[on], seen/len(needs))
		}
	}
}
