// Package evidence keeps what was read of a content when it was judged, so that it can be judged
// again without it.
//
// A [Recorder] notes the bytes that a judge reads; [Recorder.Blob] packs them. [Open] gives a
// reader of the same content in which those bytes can be read again. A judge by other rules may
// ask for more: then [Content.Missed] says so, whatever the judge made of the error, and its
// verdict is none.
//
// # Form
//
// A version byte; zstd of: the content's size, the number of spans, for each span the gap before
// it and its length, all as varints; then the bytes of the spans. Spans are in order and do not
// touch.
//
// # Limits
//
// What was read of a content is at most MaxBytes, or there is no evidence of it.
package evidence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// MaxBytes bounds what is kept of a content, before it is packed.
const MaxBytes = 8 << 20

// version is that of the form.
const version = 1

// A span is what was read at an offset.
type span struct {
	off  int64
	data []byte
}

func (s span) end() int64 { return s.off + int64(len(s.data)) }

// A Recorder is a reader of a content that notes what is read.
type Recorder struct {
	r    io.ReaderAt
	size int64

	mu    sync.Mutex
	spans []span // in order, none touches another
	total int
	lost  bool // more was read than is kept, or a read failed
	err   error
}

// Record returns a recorder of a content.
func Record(r io.ReaderAt, size int64) *Recorder { return &Recorder{r: r, size: size} }

// ReadAt implements io.ReaderAt.
func (c *Recorder) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case off < 0:
	case err != nil && (!errors.Is(err, io.EOF) || off+int64(n) < c.size && n < len(p)):
		if c.lost, c.spans = true, nil; c.err == nil {
			c.err = err
		}
	case c.lost:
	case n > 0:
		c.note(off, p[:n])
	}
	return n, err
}

// note adds what was read, joined with the spans that it touches.
func (c *Recorder) note(off int64, p []byte) {
	end := off + int64(len(p))
	first, _ := slices.BinarySearchFunc(c.spans, off, func(s span, off int64) int {
		if s.end() < off {
			return -1
		}
		return 1
	})
	last := first
	from, to := off, end
	for last < len(c.spans) && c.spans[last].off <= end {
		from, to = min(from, c.spans[last].off), max(to, c.spans[last].end())
		last++
	}
	if last == first+1 && c.spans[first].off == from && c.spans[first].end() == to {
		return // all of it was read before
	}
	had := 0
	for _, s := range c.spans[first:last] {
		had += len(s.data)
	}
	if int64(c.total-had)+(to-from) > MaxBytes {
		c.lost, c.spans = true, nil
		return
	}
	var joined span
	if last > first && c.spans[first].off == from { // what is read in order grows in place
		joined = c.spans[first]
		joined.data = slices.Grow(joined.data, int(to-from)-len(joined.data))[:to-from]
	} else {
		joined = span{from, make([]byte, to-from)}
	}
	for _, s := range c.spans[first:last] {
		copy(joined.data[s.off-from:], s.data)
	}
	copy(joined.data[off-from:], p)
	c.total += len(joined.data) - had
	c.spans = slices.Replace(c.spans, first, last, joined)
}

// Err is the first error of a read: what was judged then is not the content.
func (c *Recorder) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

var packer, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))

// Blob returns what was read so far. ok is false if it is more than is kept, or a read failed.
func (c *Recorder) Blob() (blob []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		return nil, false
	}
	text := binary.AppendUvarint(nil, uint64(c.size))
	text = binary.AppendUvarint(text, uint64(len(c.spans)))
	at := int64(0)
	for _, s := range c.spans {
		text = binary.AppendUvarint(text, uint64(s.off-at))
		text = binary.AppendUvarint(text, uint64(len(s.data)))
		at = s.end()
	}
	for _, s := range c.spans {
		text = append(text, s.data...)
	}
	return packer.EncodeAll(text, []byte{version}), true
}

// Errors about evidence.
var (
	// ErrMissed is what a read gets of bytes that are not in the evidence.
	ErrMissed = errors.New("evidence: these bytes were not read before")
	// ErrForm is about a blob that this version does not read.
	ErrForm = errors.New("evidence: it is damaged, or of another version")
)

// A Content is a content of which some bytes are known.
type Content struct {
	Size int64

	spans []span

	mu     sync.Mutex
	missed bool
}

// unpacker reads no more than a blob can hold: its bytes and the numbers of its spans.
var unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*MaxBytes+1<<20))

// Open reads a blob of [Recorder.Blob].
func Open(blob []byte) (*Content, error) {
	if len(blob) == 0 || blob[0] != version {
		return nil, ErrForm
	}
	text, err := unpacker.DecodeAll(blob[1:], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	in := bytes.NewReader(text)
	number := func() int64 {
		n, e := binary.ReadUvarint(in)
		if e != nil || n > 1<<62 {
			err = ErrForm
		}
		return int64(n)
	}
	c := &Content{Size: number()}
	n := number()
	if err != nil || n > int64(in.Len())/2 { // each span has two numbers
		return nil, ErrForm
	}
	c.spans = make([]span, n)
	lengths := make([]int64, n)
	at, total := int64(0), int64(0)
	for i := range c.spans {
		gap, length := number(), number()
		if err != nil || gap > c.Size-at || length > c.Size-at-gap || length == 0 || i > 0 && gap == 0 {
			return nil, ErrForm
		}
		c.spans[i].off, lengths[i] = at+gap, length
		at += gap + length
		total += length
	}
	if total != int64(in.Len()) {
		return nil, ErrForm
	}
	rest := text[len(text)-in.Len():]
	for i, length := range lengths {
		c.spans[i].data, rest = rest[:length:length], rest[length:]
	}
	return c, nil
}

// ReadAt implements io.ReaderAt.
func (c *Content) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("evidence: negative offset")
	}
	if len(p) == 0 {
		return 0, nil
	}
	if off >= c.Size {
		return 0, io.EOF
	}
	want := min(int64(len(p)), c.Size-off)
	i, _ := slices.BinarySearchFunc(c.spans, off, func(s span, off int64) int {
		if s.end() <= off {
			return -1
		}
		return 1
	})
	if i == len(c.spans) || c.spans[i].off > off || c.spans[i].end() < off+want {
		c.mu.Lock()
		c.missed = true
		c.mu.Unlock()
		return 0, ErrMissed
	}
	copy(p, c.spans[i].data[off-c.spans[i].off:][:want])
	if want < int64(len(p)) {
		return int(want), io.EOF
	}
	return int(want), nil
}

// Missed reports whether bytes were asked for that are not there.
func (c *Content) Missed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.missed
}
