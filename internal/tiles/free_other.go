//go:build !linux && !darwin && !freebsd

package tiles

// Free cannot be known here.
func Free(string) (int64, bool) { return 0, false }
