//go:build !linux

package sandbox

import (
	"runtime"
	"time"
)

// Lock does nothing here.
func Lock(Needs) (missing []string, err error) {
	return []string{"a sandbox on " + runtime.GOOS}, nil
}

// Limit does nothing here.
func Limit(int64, time.Duration) error { return nil }
