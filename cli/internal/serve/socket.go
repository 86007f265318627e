package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
)

// A socket is a Unix socket with a name. The name is removed while the socket is still open, and
// only if it still belongs to it, so that the name of another service is never removed.
type socket struct {
	net.Listener

	path string
	info fs.FileInfo
	once sync.Once
}

// openSocket listens on a socket with these permissions.
func openSocket(ctx context.Context, path string, mode fs.FileMode) (*socket, error) {
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	l, err := listenPrivately(ctx, path)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		l.Close()
		return nil, err
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	s := &socket{Listener: l, path: path, info: info}
	if err := os.Chmod(path, mode); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close removes the name, and closes the socket.
func (s *socket) Close() error {
	s.remove()
	return s.Listener.Close()
}

func (s *socket) remove() {
	s.once.Do(func() {
		if now, err := os.Lstat(s.path); err == nil && os.SameFile(s.info, now) {
			_ = os.Remove(s.path) // a name that stays is that of a stale socket
		}
	})
}

// removeStale removes the name of a socket that a service of this user left when it was
// killed. Anything else of that name is an error: a file, a socket of another user, and one
// that a process holds, whether or not it listens.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	why := ""
	switch {
	case info.Mode().Type() != fs.ModeSocket:
		why = "it is not a socket"
	case !ownedByUs(info):
		why = "it is a socket of another user"
	case isHeld(ctx, path):
		why = "a process uses this socket"
	}
	if why != "" {
		return fault.Usage(fmt.Sprintf("unix:%s exists, and only a socket that a killed service left is replaced: %s", path, why))
	}
	return os.Remove(path)
}
