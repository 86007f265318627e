package host

import (
	"io"
	"strings"
)

// A Scratch is a temporary file for something made from an upload, such as a report, so that a client
// that reads it slowly holds no memory. Its bytes count as spooled bytes of the tenant.
type Scratch struct {
	u    *Upload
	file spoolFile
	size int64
}

// Scratch returns an empty file. Close it before the upload.
func (u *Upload) Scratch() (*Scratch, error) {
	if !u.exists() {
		return nil, errNoUpload
	}
	if u.closed {
		return nil, errClosed
	}
	f, err := u.host.create(u.host.o.Dir)
	if err != nil {
		return nil, err
	}
	return &Scratch{u: u, file: f}, nil
}

// Write appends to the file. The error is [Busy] if the spool has no room.
func (s *Scratch) Write(p []byte) (int, error) {
	if s == nil || s.file == nil {
		return 0, errNoUpload
	}
	if err := s.u.host.room(s.u.tenant, int64(len(p))); err != nil {
		return 0, err
	}
	s.size += int64(len(p))
	return s.file.Write(p)
}

// Reader returns a reader of what was written.
func (s *Scratch) Reader() *io.SectionReader {
	if s == nil || s.file == nil {
		return io.NewSectionReader(strings.NewReader(""), 0, 0)
	}
	return io.NewSectionReader(s.file, 0, s.size)
}

// Close removes the file.
func (s *Scratch) Close() error {
	if s == nil || s.file == nil {
		return nil
	}
	s.u.host.leave(s.u.tenant, s.size)
	s.size = 0
	return s.file.Close()
}
