//go:build !linux

package sandbox

import "runtime"

// Lock does nothing here.
func Lock(Needs) (missing []string, err error) {
	return []string{"a sandbox on " + runtime.GOOS}, nil
}
