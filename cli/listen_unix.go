//go:build unix

package cli

import (
	"context"
	"net"

	"golang.org/x/sys/unix"
)

// listenPrivately opens a socket that no other user may use until its permissions are
// set. The mask is the process's: no file is created meanwhile.
func listenPrivately(ctx context.Context, path string) (net.Listener, error) {
	old := unix.Umask(0o177)
	defer unix.Umask(old)
	var config net.ListenConfig
	return config.Listen(ctx, "unix", path)
}
