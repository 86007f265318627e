//go:build !linux && !darwin && !freebsd

package output

// Free cannot be known here.
func (p *Place) Free() (int64, bool) { return 0, false }
