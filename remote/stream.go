package remote

import (
	"io"
	"net/http"
	"slices"
)

// A stream requests firstStream bytes, and twice as many each time that reading continues at
// its end.
const (
	firstStream = 16 << 20
	maxStream   = 1 << 30
	maxStreams  = 4 // of one file: readers of different tensors
)

// A stream is an open answer.
type stream struct {
	f    *file
	body io.ReadCloser
	off  int64 // offset of the next byte
	end  int64
	span int64 // how many bytes were requested
}

// stream begins a stream and returns its first piece.
func (f *file) stream(off, n int64) (*piece, error) {
	span := int64(firstStream)
	for _, s := range f.streams { // continue one that has ended here
		if s.end == off {
			span = min(2*s.span, maxStream)
			f.closeStream(s)
			break
		}
	}
	if len(f.streams) == maxStreams {
		f.closeStream(f.streams[0])
	}
	ask := max(span, n)
	if f.size >= 0 {
		ask = min(ask, f.size-off)
	}
	s := &stream{f: f, off: off, span: span}
	var p *piece
	by := f.c.http
	if off < firstStream && f.long { // a header, whose end is not known yet
		by = f.c.narrow
	}
	err := f.request(by, off, ask, func(resp *http.Response, got int64) (err error) {
		s.body, s.off, s.end = resp.Body, off, off+got
		if p, err = s.piece(off, n); err == nil {
			resp.Body = http.NoBody // which the caller closes instead
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	f.streams = append(f.streams, s)
	return p, nil
}

// maxSkip is the most bytes of a stream that are skipped instead of a new request.
const maxSkip = 2 << 20

// reaches reports whether the stream will soon be at an offset.
func (s *stream) reaches(off int64) bool { return off >= s.off && off < s.end && off <= s.off+maxSkip }

// piece reads n bytes from an offset on, or fewer at the end.
func (s *stream) piece(off, n int64) (*piece, error) {
	if skip := off - s.off; skip > 0 {
		if err := s.f.c.b.Fetch(skip); err != nil {
			return nil, err
		}
		k, err := io.CopyN(io.Discard, s.body, skip)
		s.off += k
		if err != nil {
			return nil, &retryable{err: err}
		}
	}
	n = min(n, s.end-off)
	p, err := s.f.readPiece(s.body, off, n)
	if err == nil {
		s.off += n
	}
	return p, err
}

// closeStream closes a stream.
func (f *file) closeStream(s *stream) {
	s.body.Close()
	f.streams = slices.DeleteFunc(f.streams, func(o *stream) bool { return o == s })
}

// hold counts one more user of the file. release counts one fewer, and closes the streams
// after the last.
func (f *file) hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users++
}

func (f *file) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 {
		for len(f.streams) > 0 {
			f.closeStream(f.streams[0])
		}
	}
}
