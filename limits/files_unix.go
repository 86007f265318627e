//go:build unix

package limits

import (
	"math"
	"sync"
	"syscall"
)

// systemFiles returns how many files of models the process may open. A quarter of its
// limit, at most 64, is left for everything else.
var systemFiles = sync.OnceValue(func() int64 {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return math.MaxInt64
	}
	n := int64(min(uint64(r.Cur), math.MaxInt64))
	return max(n-min(n/4, 64), 1)
})
