//go:build unix

package serve

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// listenPrivately opens a socket that no other user can use until its permissions are set.
// The umask is that of the process, which creates no other file meanwhile.
func listenPrivately(ctx context.Context, path string) (net.Listener, error) {
	old := unix.Umask(0o177)
	defer unix.Umask(old)
	var config net.ListenConfig
	return config.Listen(ctx, "unix", path)
}

// ownedByUs reports whether a file belongs to the user of this process.
func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// isHeld reports whether a process holds the socket of a name, of any type. A connection for
// datagrams is refused exactly if no process does: to a socket of another type it is one of
// the wrong protocol.
func isHeld(ctx context.Context, path string) bool {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unixgram", path)
	if err == nil {
		c.Close()
	}
	return !errors.Is(err, unix.ECONNREFUSED)
}
