//go:build unix

package clamd

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// rights are descriptors that came and were not asked for yet: those of one message, so
// that a client cannot fill the table of descriptors.
type rights struct {
	came bool
	cut  bool // there were more than the buffer takes; the system closed them
	fds  []int
}

// takesRights reports whether descriptors can come.
func (p *pacedConn) takesRights() bool {
	_, ok := p.Conn.(*net.UnixConn)
	return ok
}

// receive reads, and takes the descriptors that come.
func (p *pacedConn) receive(b []byte) (int, error) {
	c, ok := p.Conn.(*net.UnixConn)
	if !ok {
		return p.Conn.Read(b)
	}
	var room [32]byte // for two descriptors at most: one is taken
	n, oobn, flags, _, err := c.ReadMsgUnix(b, room[:])
	n, oobn = max(n, 0), max(oobn, 0) // an error comes with -1, which no reader may return
	if oobn == 0 && flags&unix.MSG_CTRUNC == 0 {
		return n, err
	}
	came := rights{came: true, cut: flags&unix.MSG_CTRUNC != 0}
	list, _ := unix.ParseSocketControlMessage(room[:oobn]) // what cannot be parsed has no descriptors
	for i := range list {
		fds, err := unix.ParseUnixRights(&list[i])
		if err == nil {
			came.fds = append(came.fds, fds...)
		}
	}
	if p.rights.came {
		came.close()
		return 0, errRights
	}
	p.rights = came
	return n, err
}

// take returns the one descriptor that was received, or an error.
func (r *rights) take() (f *os.File, why string) {
	defer func() { *r = rights{} }()
	switch {
	case len(r.fds) == 1 && !r.cut:
		return os.NewFile(uintptr(r.fds[0]), descriptor), ""
	case r.came:
		r.close()
		return nil, "One file descriptor is taken at a time"
	}
	return nil, "No file descriptor received"
}

func (r *rights) close() {
	for _, fd := range r.fds {
		unix.Close(fd)
	}
	*r = rights{}
}

// readOnly reports whether a descriptor gives the right to read and no other.
func readOnly(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY && flags&pathOnly == 0
}
