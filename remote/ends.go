package remote

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
)

// tail is how many bytes at the end of each file are read, to find out whether it is also an archive:
// the length of the longest end record of a ZIP archive.
const tail = 64<<10 + 22

// maxBetween bounds what surrounds two ranges: boundaries and headers.
const maxBetween = 8 << 10

// errOneRange means that an answer is not the two ranges that were requested.
var errOneRange = errors.New("the answer does not have the two requested ranges")

// ends fetches the beginning and the tail of a file in one request. If the server does not
// answer with both, it returns false, now and for all later files.
func (f *file) ends() (bool, error) {
	if f.long || f.size <= onePiece+tail || len(f.pieces) > 0 || f.c.oneRange.Load() {
		return false, nil
	}
	header := http.Header{"Range": {fmt.Sprintf("bytes=0-%d,%d-%d", onePiece-1, f.size-tail, f.size-1)}, "Accept-Encoding": {"identity"}}
	err := f.c.get(f.url, header, func(resp *http.Response) error {
		kind, p, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if resp.StatusCode != http.StatusPartialContent || err != nil || kind != "multipart/byteranges" {
			return errOneRange
		}
		if f.mark.changed(resp.Header) {
			return fmt.Errorf("%s: %w", urlText(f.url), ErrChanged)
		}
		parts := multipart.NewReader(io.LimitReader(resp.Body, onePiece+tail+maxBetween), p["boundary"])
		for _, want := range []struct{ off, n int64 }{{0, onePiece}, {f.size - tail, tail}} {
			if err := f.part(parts, want.off, want.n); err != nil {
				f.dropPieces()
				return err
			}
		}
		f.answered(resp.Header)
		return nil
	})
	if errors.Is(err, errOneRange) {
		f.c.oneRange.Store(true)
		return false, nil
	}
	return err == nil, err
}

// part reads the next part, which must be the given range.
func (f *file) part(parts *multipart.Reader, off, n int64) error {
	part, err := parts.NextRawPart()
	if err == io.EOF {
		return errOneRange
	}
	if err != nil {
		return &retryable{err: err}
	}
	begin, end, size, ok := contentRange(part.Header.Get("Content-Range"))
	switch {
	case !ok, begin != off, end != off+n:
		return errOneRange
	case size != f.size:
		return fmt.Errorf("%s: %w", urlText(f.url), ErrChanged)
	}
	p, err := f.readPiece(part, off, n)
	if err == nil {
		f.pieces = append(f.pieces, p)
		f.seen.add(p.off, p.end())
	}
	return err
}

// dropPieces drops all pieces, and returns their charges.
func (f *file) dropPieces() {
	for _, p := range f.pieces {
		f.c.b.Drop(int64(len(p.data)))
	}
	f.pieces = nil
}
