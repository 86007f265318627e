package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Lock locks the process, and lists what the system lacks for it. An error means that
// a part of it failed that should not: the process is to end.
func Lock(n Needs) (missing []string, err error) {
	runtime.LockOSThread() // until every thread is locked
	defer runtime.UnlockOSThread()
	_ = time.Unix(0, 0).Local().String() // loads the zone's file, which cannot be opened later
	every := true
	switch _, _, no := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); no {
	case 0:
	case syscall.ENOTSUP:
		every = false // C is linked; the filter takes it to the other threads
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("sandbox: no_new_privs: %w", err)
		}
	default:
		return nil, fmt.Errorf("sandbox: no_new_privs: %w", no)
	}
	for _, part := range parts {
		err := part.lock(n, every)
		lacks, ok := errors.AsType[lacking](err)
		switch {
		case ok:
			missing = append(missing, part.name+" ("+string(lacks)+")")
		case err != nil:
			return missing, fmt.Errorf("sandbox: %s: %w", part.name, err)
		}
	}
	return missing, nil
}

// A lockPart is one means of the system.
type lockPart struct {
	name string
	has  func(every bool) error
	lock func(n Needs, every bool) error
}

// parts are what a lock is made of.
var parts = []lockPart{
	{"Landlock", func(every bool) error { _, err := hasLandlock(every); return err }, landlock},
	{"seccomp", func(bool) error { return hasFilter() }, filter},
}

// Missing lists what Lock would: what the system or the way this program was built lacks.
func Missing() (missing []string) {
	_, _, no := syscall.AllThreadsSyscall(unix.SYS_GETPID, 0, 0, 0)
	for _, part := range parts {
		if err := part.has(no != syscall.ENOTSUP); err != nil {
			missing = append(missing, part.name+" ("+err.Error()+")")
		}
	}
	return missing
}

// lacking is why the system cannot do a part.
type lacking string

func (l lacking) Error() string { return string(l) }
