//go:build !linux

package sandbox

import (
	"runtime"
	"time"
)

// Missing is what Lock lists.
func Missing() []string { return []string{"a sandbox on " + runtime.GOOS} }

// Lock does nothing here.
func Lock(Needs) (missing []string, err error) { return Missing(), nil }

// Limit does nothing here.
func Limit(int64, time.Duration) error { return nil }
