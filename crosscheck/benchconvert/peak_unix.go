//go:build unix

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// ownPeak is the most resident bytes that this process had, where the system
// says that of a process itself.
func ownPeak() (n int64) {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Sscan(rest, &n)
	return n << 10
}

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
