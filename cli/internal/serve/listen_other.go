//go:build !unix

package serve

import (
	"context"
	"io/fs"
	"net"
	"time"
)

// listenPrivately opens a socket; its folder says who may use it.
func listenPrivately(ctx context.Context, path string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "unix", path)
}

// ownedByUs reports whether a file belongs to the user of this process, as far as the system
// tells.
func ownedByUs(fs.FileInfo) bool { return true }

// isHeld reports whether a process listens on a socket.
func isHeld(ctx context.Context, path string) bool {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
	}
	return err == nil
}
