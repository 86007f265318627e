package sandbox

import (
	"time"

	"golang.org/x/sys/unix"
)

// Limit bounds what this process may take: bytes of memory that it can write to, and
// time of processors. It writes to no file, and leaves no core.
func Limit(memory int64, cpu time.Duration) error {
	seconds := uint64(max(cpu/time.Second, 0)) + 1
	if cpu < 0 { // none
		seconds = unix.RLIM_INFINITY
	}
	for _, l := range []struct {
		what int
		most uint64
	}{{unix.RLIMIT_DATA, uint64(memory)}, {unix.RLIMIT_CPU, seconds}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_CORE, 0}, {unix.RLIMIT_NOFILE, 32}} {
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.most, Max: l.most}); err != nil {
			return err
		}
	}
	return nil
}
