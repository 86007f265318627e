package remote

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A piece of a file is asked for as it is read. Who reads on from its end is given a
// stream: one answer that is read as long as reading goes on.
const (
	onePiece   = 128 << 10
	maxPiece   = 8 << 20
	keptPieces = 6
)

// A file is read by ranges of one address.
type file struct {
	c    *client
	url  *url.URL
	size int64 // -1 until the first answer
	long bool  // its header is, so that a stream begins with it

	mu      sync.Mutex
	users   int
	mark    mark
	pieces  []*piece // the last used is the last
	streams []*stream
}

type piece struct {
	off  int64
	data []byte
}

func (p *piece) end() int64 { return p.off + int64(len(p.data)) }

func newFile(c *client, u *url.URL, size int64) *file {
	return &file{c: c, url: u, size: size, long: strings.HasSuffix(u.Path, ".gguf")}
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for n < len(p) {
		if off < 0 || f.size >= 0 && off >= f.size {
			return n, io.EOF
		}
		data, err := f.at(off, int64(len(p)-n))
		if err != nil {
			return n, err
		}
		k := copy(p[n:], data)
		n, off = n+k, off+int64(k)
	}
	return n, nil
}

// at gives bytes from an offset on, at least one.
func (f *file) at(off, want int64) ([]byte, error) {
	for i, p := range f.pieces {
		if off >= p.off && off < p.end() {
			f.pieces = append(append(f.pieces[:i:i], f.pieces[i+1:]...), p)
			return p.data[off-p.off:], nil
		}
	}
	if off == 0 {
		if ok, err := f.ends(); err != nil {
			return nil, err
		} else if ok {
			return f.pieces[0].data, nil
		}
	}
	ask := min(max(want, onePiece), maxPiece)
	if f.size >= 0 && f.size <= onePiece+tail {
		ask = f.size // at one go
	}
	if f.size >= 0 {
		ask = min(ask, f.size-off)
	}
	p, err := f.next(off, ask)
	if err != nil {
		return nil, err
	}
	if len(f.pieces) == keptPieces {
		f.c.b.Drop(int64(cap(f.pieces[0].data)))
		f.pieces = f.pieces[1:]
	}
	f.pieces = append(f.pieces, p)
	return p.data, nil
}

// next fetches the piece at an offset: from the stream that is there, from a new one
// where the offset is the end of a piece, else alone.
func (f *file) next(off, n int64) (*piece, error) {
	for _, s := range f.streams {
		if !s.reaches(off) {
			continue
		}
		p, err := s.piece(off, n)
		if err == nil {
			return p, nil
		}
		f.drop(s)
		if _, cut := err.(*retryable); !cut {
			return nil, err
		}
		return f.stream(off, n)
	}
	if off == 0 && f.long || slices.ContainsFunc(f.pieces, func(p *piece) bool { return p.end() == off }) {
		return f.stream(off, n)
	}
	var p *piece
	err := f.ask(f.c.http, off, n, func(resp *http.Response, n int64) (err error) {
		p, err = f.take(resp.Body, off, n)
		return err
	})
	return p, err
}

// ask asks for a range, holds the answer to what earlier ones said of the file, and
// gives it to take with the number of bytes that it has.
func (f *file) ask(by *http.Client, off, n int64, take func(resp *http.Response, n int64) error) error {
	header := http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", off, off+n-1)}, "Accept-Encoding": {"identity"}}
	if f.mark.etag != "" {
		header.Set("If-Match", f.mark.etag)
	}
	return f.c.getBy(by, f.url, header, func(resp *http.Response) error {
		switch resp.StatusCode {
		case http.StatusPartialContent:
		case http.StatusPreconditionFailed:
			return fmt.Errorf("%s: %w", shown(f.url), ErrChanged)
		case http.StatusOK:
			return wire.ErrUnsupported.Errorf("%s: the server has no ranges: fetch the file first", shown(f.url))
		default:
			return fmt.Errorf("%s: %s", shown(f.url), resp.Status)
		}
		begin, end, size, ok := contentRange(resp.Header.Get("Content-Range"))
		switch {
		case !ok, begin != off, end > off+n, end <= off:
			return fmt.Errorf("%s: an answer of another range than the one asked for", shown(f.url))
		case f.size >= 0 && size != f.size, f.mark.changed(resp.Header):
			return fmt.Errorf("%s: %w", shown(f.url), ErrChanged)
		}
		if err := take(resp, end-begin); err != nil {
			return err
		}
		f.mark = marked(resp.Header)
		f.size = size
		return nil
	})
}

// take reads a piece of n bytes.
func (f *file) take(body io.Reader, off, n int64) (*piece, error) {
	data, err := limits.Make[byte](f.c.b, int(n))
	if err != nil {
		return nil, err
	}
	if err := f.c.read(data, body); err != nil {
		f.c.b.Drop(n)
		return nil, err
	}
	return &piece{off, data}, nil
}

// A mark is what a server says of the content that it answers with: a strong ETag, or else
// a weak one, which If-Match never holds, and when it was written.
type mark struct{ etag, weak string }

func marked(h http.Header) mark {
	if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return mark{etag: tag}
	}
	return mark{weak: h.Get("ETag") + h.Get("Last-Modified")}
}

// changed reports an answer of other content.
func (m mark) changed(h http.Header) bool { return m != mark{} && marked(h) != m }

// shown is an address for people, without what is asked of it: a signature.
func shown(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

// contentRange reads "bytes 0-99/1234": the first byte, that behind the last, the size.
func contentRange(s string) (begin, end, size int64, ok bool) {
	s, ok = strings.CutPrefix(s, "bytes ")
	span, total, ok2 := strings.Cut(s, "/")
	from, to, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, 0, false
	}
	begin, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	size, err3 := strconv.ParseInt(total, 10, 64)
	return begin, last + 1, size, err1 == nil && err2 == nil && err3 == nil && begin >= 0 && last >= begin && last < size
}
