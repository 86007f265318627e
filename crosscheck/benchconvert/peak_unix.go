//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peak is the most resident bytes that a process had.
func peak(s *os.ProcessState) int64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return int64(u.Maxrss)
	default:
		return int64(u.Maxrss) << 10
	}
}
