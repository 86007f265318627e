package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A piece of a file is asked for as it is read: the first is small, those that follow
// one another grow.
const (
	firstPiece = 128 << 10
	maxPiece   = 8 << 20
	keptPieces = 6
)

// A file is read by ranges of one address.
type file struct {
	c    *client
	ctx  context.Context
	b    *limits.Budget
	url  *url.URL
	size int64 // -1 until the first answer

	mu     sync.Mutex
	etag   string
	pieces []*piece // the last used is the last
	next   int64    // where the last piece ended, so that reading on is seen
	grow   int64
}

type piece struct {
	off  int64
	data []byte
}

func newFile(ctx context.Context, b *limits.Budget, c *client, u *url.URL, size int64) *file {
	return &file{c: c, ctx: ctx, b: b, url: u, size: size, grow: firstPiece}
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
		if off >= p.off && off < p.off+int64(len(p.data)) {
			f.pieces = append(append(f.pieces[:i:i], f.pieces[i+1:]...), p)
			return p.data[off-p.off:], nil
		}
	}
	ask := max(want, firstPiece)
	if off == f.next && off > 0 { // on from the last one
		f.grow = min(2*f.grow, maxPiece)
		ask = max(want, f.grow)
	}
	ask = min(ask, maxPiece)
	if f.size >= 0 {
		ask = min(ask, f.size-off)
	}
	p, err := f.fetch(off, ask)
	if err != nil {
		return nil, err
	}
	if len(f.pieces) == keptPieces {
		f.b.Drop(int64(cap(f.pieces[0].data)))
		f.pieces = f.pieces[1:]
	}
	f.pieces = append(f.pieces, p)
	f.next = off + int64(len(p.data))
	return p.data, nil
}

// fetch asks for a range, and holds the answer to what earlier ones said of the file.
func (f *file) fetch(off, n int64) (p *piece, err error) {
	header := http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", off, off+n-1)}, "Accept-Encoding": {"identity"}}
	if f.etag != "" {
		header.Set("If-Match", f.etag)
	}
	err = f.c.get(f.ctx, f.url, header, func(resp *http.Response) error {
		switch resp.StatusCode {
		case http.StatusPartialContent:
		case http.StatusPreconditionFailed:
			return fmt.Errorf("%s: %w", f.url.Redacted(), ErrChanged)
		case http.StatusOK:
			return fmt.Errorf("%s: the server has no ranges: fetch the file first", f.url.Redacted())
		default:
			return fmt.Errorf("%s: %s", f.url.Redacted(), resp.Status)
		}
		begin, end, size, ok := contentRange(resp.Header.Get("Content-Range"))
		switch {
		case !ok, begin != off, end > off+n, end <= off:
			return fmt.Errorf("%s: an answer of another range than the one asked for", f.url.Redacted())
		case f.size >= 0 && size != f.size, f.etag != "" && resp.Header.Get("ETag") != f.etag:
			return fmt.Errorf("%s: %w", f.url.Redacted(), ErrChanged)
		}
		data, err := limits.Make[byte](f.b, int(end-begin))
		if err != nil {
			return err
		}
		if err := f.c.read(data, resp.Body); err != nil {
			f.b.Drop(int64(len(data)))
			return err
		}
		if tag := resp.Header.Get("ETag"); !strings.HasPrefix(tag, "W/") { // a weak one tells little, and If-Match never holds it
			f.etag = tag
		}
		f.size, p = size, &piece{off, data}
		return nil
	})
	return p, err
}

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
