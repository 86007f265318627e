package clamd

import (
	"errors"
	"fmt"
	"os"

	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// descriptor is the name of a file that came as a descriptor.
const descriptor = "descriptor"

// errRights means that descriptors came which nothing asked for.
var errRights = errors.New("more than one message with descriptors waits")

// fildes judges a file whose descriptor the client passes beside one byte, as clamdscan
// --fdpass does.
func (k *conn) fildes() (bool, error) {
	if !k.c.takesRights() {
		return false, k.answer("FILDES needs a Unix socket. ERROR")
	}
	if _, err := k.in.ReadByte(); err != nil {
		return false, err
	}
	f, why := k.c.rights.take()
	if f == nil {
		return true, k.answer(why + ". ERROR")
	}
	defer f.Close()
	size, why := readable(f)
	if why != "" {
		return true, k.answer(fmt.Sprintf("fd[%d]: %s. ERROR", f.Fd(), why))
	}
	text, err := k.judge(descriptor, func(u *host.Upload) error { return u.Use(f, size) })
	if err != nil {
		text = wire.Clean(err.Error(), 256) + ". ERROR"
	}
	return true, k.answer(fmt.Sprintf("fd[%d]: %s", f.Fd(), text))
}

// reload answers RELOAD.
func (k *conn) reload() string {
	if k.Reload == nil {
		return "There is nothing to reload. ERROR"
	}
	if err := k.Reload(); err != nil {
		return "Not reloaded: " + wire.Clean(err.Error(), 512) + ". ERROR"
	}
	return "RELOADING"
}

// readable returns the size of a regular file that is open only for reading, or an error for any
// other descriptor. A process that judges must not be handed the right to write.
func readable(f *os.File) (size int64, why string) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return 0, "It cannot be examined"
	case !info.Mode().IsRegular():
		return 0, "It is not a regular file"
	case !readOnly(f):
		return 0, "It is not open for reading only"
	}
	return info.Size(), ""
}
