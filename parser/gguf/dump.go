package gguf

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	dumpBytes    = 16 // bytes of a field that a dump shows
	dumpElements = 4  // elements of an array that a dump shows
	dumpText     = 48 // bytes of a text that a dump shows
)

// Dump writes an annotated dump of a file: offset, bytes, meaning, one line per
// field of the header and one per tensor of the data. Long fields are cut. Of a
// file that is refused it shows what comes before the place of the error, and
// returns the error.
func Dump(b *limits.Budget, w io.Writer, r io.ReaderAt, size int64) error {
	t := &tracer{w: bufio.NewWriter(w), r: r}
	f, err := decode(b, r, size, decodeMode{trace: t})
	if err == nil {
		t.data(f)
	}
	if err == nil {
		err = t.err
	}
	if flush := t.w.Flush(); err == nil {
		err = flush
	}
	return err
}

// A tracer is called for every field in the order of the file.
type tracer struct {
	w   *bufio.Writer
	r   io.ReaderAt
	err error // of reading the bytes to show
}

// head begins a section of the dump.
func (t *tracer) head(format string, args ...any) {
	fmt.Fprintf(t.w, "\n# "+format+"\n", args...)
}

// add shows the field in [from, to).
func (t *tracer) add(from, to int64, what string, value any) {
	t.line(from, to, "%s %s", what, shown(value))
}

func (t *tracer) line(from, to int64, format string, args ...any) {
	if t.err != nil {
		return
	}
	var room [dumpBytes]byte
	p := room[:min(to-from, dumpBytes)]
	if err := wire.ReadFull(t.r, p, from); err != nil {
		t.err = err
		return
	}
	var hex strings.Builder
	for i, c := range p {
		if i == dumpBytes/2 {
			hex.WriteByte(' ')
		}
		fmt.Fprintf(&hex, " %02x", c)
	}
	if to-from > dumpBytes {
		hex.WriteString(" ..")
	}
	fmt.Fprintf(t.w, "%08x %-53s"+format+"\n", append([]any{from, hex.String()}, args...)...)
}

// shown returns a value as one line of a dump.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return `"` + wire.Clean(v, dumpText) + `"`
	default:
		return fmt.Sprint(v)
	}
}

// array shows the first elements of an array whose end has been found.
func (t *tracer) array(b *limits.Budget, a Array) {
	if t.err != nil || a.n == 0 {
		return
	}
	if size := a.elem.size(); size != 0 {
		t.line(a.span.Off, a.span.Off+a.span.Len, "%d elements", a.n)
		return
	}
	r := a.f.reader(b)
	if t.err = r.open(a.span); t.err != nil {
		return
	}
	for i := range min(a.n, dumpElements) {
		from := r.c.Off()
		s, err := r.element()
		if err != nil {
			// Verify reports what is wrong with the text.
			t.line(from, from+int64(a.f.width()), "element %d: %v", i, err)
			break
		}
		t.line(from, r.c.Off(), "element %d %s", i, shown(s))
	}
	if a.n > dumpElements {
		t.line(r.c.Off(), a.span.End(), "%d more elements", a.n-dumpElements)
	}
}

// data shows what follows the header.
func (t *tracer) data(f *File) {
	t.head("data")
	if f.dataStart > f.headerEnd && f.headerEnd < f.size {
		t.line(f.headerEnd, min(f.dataStart, f.size), "padding to %d", f.alignment)
	}
	at := f.dataStart
	for i := range f.Infos {
		info := &f.Infos[i]
		if info.Span.Off > at {
			t.line(at, info.Span.Off, "padding")
		}
		at = info.Span.End()
		t.line(info.Span.Off, at, "%s, %d bytes", place("tensor", i, info.Name), info.Span.Len)
	}
	if len(f.Infos) > 0 && at < f.size {
		t.line(at, f.size, "padding")
	}
}
