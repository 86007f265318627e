//go:build unix

package cli

import (
	"context"
	"net"

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
