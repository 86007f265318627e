//go:build linux || darwin || freebsd

package output

import "golang.org/x/sys/unix"

// Free returns how many bytes the file system of the folder has left for this user; false
// where that cannot be known.
func (p *Place) Free() (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(p.folder, &st); err != nil {
		return 0, false
	}
	n := uint64(st.Bavail) * uint64(st.Bsize)
	if st.Bsize <= 0 || n/uint64(st.Bsize) != uint64(st.Bavail) || n > 1<<62 {
		return 1 << 62, true
	}
	return int64(n), true
}
