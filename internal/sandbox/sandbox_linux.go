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
	for _, part := range []struct {
		name string
		lock func(Needs, bool) error
	}{{"Landlock", landlock}, {"seccomp", filter}} {
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

// lacking is why the system cannot do a part.
type lacking string

func (l lacking) Error() string { return string(l) }
