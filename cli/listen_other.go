//go:build !unix

package cli

import (
	"context"
	"net"
)

// listenPrivately opens a socket; its folder says who may use it.
func listenPrivately(ctx context.Context, path string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "unix", path)
}
