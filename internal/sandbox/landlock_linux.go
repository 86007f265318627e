package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights on files, by the version of Landlock that knows them. Starting a program is
// left to the filter: no rule could allow it.
const (
	rightsRead    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsWrite   = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	rightsPublish = unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_REG
	rightsFirst   = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1 // all of the first version
	rightsFile    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_EXECUTE
)

// hasLandlock is the version that the kernel has, or lacking.
func hasLandlock(every bool) (version uintptr, err error) {
	version, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case no == unix.ENOSYS || no == unix.EOPNOTSUPP || no == unix.EPERM:
		return 0, lacking("the kernel has none")
	case no != 0:
		return 0, no
	case !every && version < 8:
		return 0, lacking("this program links C, and the kernel locks single threads")
	}
	return version, nil
}

// landlock lets this process open what it needs, and nothing else.
func landlock(n Needs, every bool) error {
	version, err := hasLandlock(every)
	if err != nil {
		return err
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rightsFirst}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if version >= 2 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 4 {
		attr.Handled_access_net, size = unix.LANDLOCK_ACCESS_NET_BIND_TCP|unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, unsafe.Offsetof(attr.Scoped)
	}
	if version >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 6 {
		attr.Scoped, size = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL, unsafe.Offsetof(attr.Scoped)+8
	}
	rules, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if no != 0 {
		return no
	}
	defer unix.Close(int(rules))
	for _, one := range []struct {
		paths  []string
		rights uint64
	}{{n.Read, rightsRead}, {n.Write, rightsRead | rightsWrite}, {n.Publish, rightsPublish}, {n.Remove, unix.LANDLOCK_ACCESS_FS_REMOVE_FILE}} {
		for _, path := range one.paths {
			if err := allow(int(rules), path, one.rights&attr.Handled_access_fs); err != nil {
				return err
			}
		}
	}
	return restrict(rules, version, every)
}

// restrict puts the rules in force on all threads.
func restrict(rules, version uintptr, every bool) error {
	var no syscall.Errno
	if every {
		_, _, no = syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0)
	} else {
		_, _, no = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, unix.LANDLOCK_RESTRICT_SELF_TSYNC, 0)
	}
	if no != 0 {
		return no
	}
	return nil
}

// allow adds a rule for a path and what lies below it. What is not there needs none.
func allow(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ELOOP) {
		return nil // opening it will say so
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: filepath.Base(path), Err: err}
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsFile
	}
	if rights == 0 {
		return nil
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, no := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if no != 0 {
		return no
	}
	return nil
}
