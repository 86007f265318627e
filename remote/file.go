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

// A file is fetched in pieces of onePiece to maxPiece bytes, of which the last keptPieces are
// kept. A reader that continues at the end of a piece gets a stream: one answer that is read
// as long as the reader goes on.
const (
	onePiece   = 128 << 10
	maxPiece   = 8 << 20
	keptPieces = 6
)

// A file is read in ranges from one address.
type file struct {
	c    *client
	url  *url.URL
	size int64 // -1 until the first answer
	long bool  // its header is long, so that a stream begins with it
	md5  bool  // its ETag may be an MD5

	mu      sync.Mutex
	users   int
	mark    mark
	tally   tally
	seen    spans    // the ranges that were fetched
	pieces  []*piece // the most recently used is the last
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
		data, err := f.bytesAt(off, int64(len(p)-n))
		if err != nil {
			return n, err
		}
		k := copy(p[n:], data)
		n, off = n+k, off+int64(k)
	}
	return n, nil
}

// bytesAt returns at least one byte from an offset on.
func (f *file) bytesAt(off, want int64) ([]byte, error) {
	for i, p := range f.pieces {
		if off >= p.off && off < p.end() {
			f.pieces = append(append(f.pieces[:i:i], f.pieces[i+1:]...), p)
			return p.data[off-p.off:], f.digested()
		}
	}
	if off == 0 {
		if ok, err := f.ends(); err != nil {
			return nil, err
		} else if ok {
			return f.pieces[0].data, f.digested()
		}
	}
	ask := min(max(want, onePiece), maxPiece)
	if f.size >= 0 && f.size <= onePiece+tail {
		ask = f.size // the whole file at once
	}
	if f.size >= 0 {
		ask = min(ask, f.size-off)
	}
	p, err := f.fetch(off, ask)
	if err != nil {
		return nil, err
	}
	if len(f.pieces) == keptPieces {
		f.c.b.Drop(int64(cap(f.pieces[0].data)))
		f.pieces = f.pieces[1:]
	}
	f.pieces = append(f.pieces, p)
	f.seen.add(p.off, p.end())
	return p.data, f.digested()
}

// fetch fetches the piece at an offset: from a stream that reaches it, from a new stream if the
// offset is the end of a piece, else by a request of its own.
func (f *file) fetch(off, n int64) (*piece, error) {
	for _, s := range f.streams {
		if !s.reaches(off) {
			continue
		}
		p, err := s.piece(off, n)
		if err == nil {
			return p, nil
		}
		f.closeStream(s)
		if _, cut := err.(*retryable); !cut {
			return nil, err
		}
		return f.stream(off, n)
	}
	if off == 0 && f.long || slices.ContainsFunc(f.pieces, func(p *piece) bool { return p.end() == off }) {
		return f.stream(off, n)
	}
	var p *piece
	err := f.request(f.c.http, off, n, func(resp *http.Response, n int64) (err error) {
		p, err = f.readPiece(resp.Body, off, n)
		return err
	})
	return p, err
}

// request requests a range, checks that the file has not changed since the earlier answers, and
// passes the answer to take with its number of bytes.
func (f *file) request(by *http.Client, off, n int64, take func(resp *http.Response, n int64) error) error {
	header := http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", off, off+n-1)}, "Accept-Encoding": {"identity"}}
	if f.mark.etag != "" {
		header.Set("If-Match", f.mark.etag)
	}
	return f.c.getWith(by, f.url, header, func(resp *http.Response) error {
		switch resp.StatusCode {
		case http.StatusPartialContent:
		case http.StatusPreconditionFailed:
			return fmt.Errorf("%s: %w", urlText(f.url), ErrChanged)
		case http.StatusOK:
			return wire.ErrUnsupported.Errorf("%s: the server does not support ranges: download the file first", urlText(f.url))
		default:
			return refused(urlText(f.url), resp)
		}
		begin, end, size, ok := contentRange(resp.Header.Get("Content-Range"))
		switch {
		case !ok, begin != off, end > off+n, end <= off:
			return fmt.Errorf("%s: the answer has another range than the requested one", urlText(f.url))
		case f.size >= 0 && size != f.size, f.mark.changed(resp.Header):
			return fmt.Errorf("%s: %w", urlText(f.url), ErrChanged)
		}
		if err := take(resp, end-begin); err != nil {
			return err
		}
		f.size = size
		f.answered(resp.Header)
		return nil
	})
}

// answered keeps what an answer states about the content: its ETag or date, and its digest.
func (f *file) answered(h http.Header) {
	f.mark = markOf(h)
	if f.md5 && f.tally.stated == nil {
		f.tally.stated = etagDigest(f.mark.etag, h.Get("X-Amz-Server-Side-Encryption"))
	}
}

// readPiece reads a piece of n bytes from a body.
func (f *file) readPiece(body io.Reader, off, n int64) (*piece, error) {
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

// A mark identifies the content of an answer: by a strong ETag, or else by a weak ETag (which
// If-Match never matches) and the time of the last change.
type mark struct{ etag, weak string }

func markOf(h http.Header) mark {
	if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return mark{etag: tag}
	}
	return mark{weak: h.Get("ETag") + h.Get("Last-Modified")}
}

// changed reports whether an answer has other content.
func (m mark) changed(h http.Header) bool { return m != mark{} && markOf(h) != m }

// urlText returns a URL for messages, without its query, which may be a signature.
func urlText(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

// contentRange parses "bytes 0-99/1234": the first byte, the one after the last, the size.
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
