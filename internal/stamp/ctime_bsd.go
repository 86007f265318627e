//go:build darwin || freebsd || netbsd

package stamp

import (
	"io/fs"
	"syscall"
)

// changeTime returns the time of the last change of a file or its attributes, which no
// program can set.
func changeTime(info fs.FileInfo) [2]int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return [2]int64{int64(s.Ctimespec.Sec), int64(s.Ctimespec.Nsec)}
	}
	return [2]int64{}
}
