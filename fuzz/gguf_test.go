package fuzz_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var ggufTarget = func() fuzz.Target {
	t := fuzz.Models(gguf.Decode)
	t.Rewrite = func(b *limits.Budget, data []byte) ([]byte, error) {
		f, err := gguf.Decode(b, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		if err := f.Verify(b); err != nil {
			return nil, wire.ErrUnsupported.Errorf("bodies that are refused are not written: %v", err)
		}
		o, err := f.Options(b)
		if err != nil {
			return nil, err
		}
		return ggufBytes(b, f, o)
	}
	return t
}()

func ggufBytes(b *limits.Budget, m tensor.Model, o gguf.Options) ([]byte, error) {
	var out bytes.Buffer
	err := gguf.Encode(b, &out, m, o)
	return out.Bytes(), err
}

// FuzzGGUF tests the reader with any bytes, and with files whose keys and tensors come
// from bytes, with correct lengths.
func FuzzGGUF(f *testing.F) {
	addSeeds(f, "gguf")
	answersFirst(f, "to-gguf")
	f.Fuzz(func(t *testing.T, data []byte) {
		built := ggufFrom(data)
		ggufTarget.Check(t, data)
		ggufTarget.Check(t, built)
		dumpEndsAlike(t, data)
		if oneOfSixteen(data) {
			secondGGUFCheck(t, data)
			secondGGUFCheck(t, built)
		}
	})
}

// dumpEndsAlike tests that the annotated dump refuses what Decode refuses, at the same
// offset.
func dumpEndsAlike(t *testing.T, data []byte) {
	decode := func(read func(b *limits.Budget) error) (wire.Class, int64) {
		b := fuzz.Ceilings.Budget(t.Context())
		defer b.Close()
		err := read(b)
		if placed, ok := errors.AsType[*wire.Error](err); ok {
			return wire.ClassOf(err), placed.Off
		}
		return wire.ClassOf(err), wire.NoOffset
	}
	class, off := decode(func(b *limits.Budget) error {
		_, err := gguf.Decode(b, bytes.NewReader(data), int64(len(data)))
		return err
	})
	var text bytes.Buffer
	dumped, at := decode(func(b *limits.Budget) error {
		return gguf.Dump(b, &text, bytes.NewReader(data), int64(len(data)))
	})
	if dumped != wire.Limit && (dumped != class || at != off) {
		t.Fatalf("Decode ends with %v at %#x, Dump with %v at %#x", class, off, dumped, at)
	}
}

// FuzzEncode tests that an accepted file can be written in every version, byte order and
// alignment that can hold it, and means the same when read.
func FuzzEncode(f *testing.F) {
	addSeeds(f, "gguf")
	f.Fuzz(func(t *testing.T, data []byte) {
		encodes(t, data)
		encodes(t, ggufFrom(data))
	})
}

func encodes(t *testing.T, data []byte) {
	b := fuzz.Ceilings.Budget(t.Context())
	defer b.Close()
	f, err := gguf.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return
	}
	if err := f.Verify(b); err != nil {
		return
	}
	same, err := f.Options(b)
	if err != nil {
		return
	}
	out, err := ggufBytes(b, f, same)
	if wire.ClassOf(err) == wire.Limit {
		return
	}
	if err != nil {
		t.Fatalf("written as it is: %v", err)
	}
	if !bytes.HasPrefix(out, data) && f.Len() > 0 {
		t.Fatalf("%d bytes, written again %d, which do not begin with them", len(data), len(out))
	}
	for _, version := range []uint32{1, 2, 3} {
		for _, alignment := range []int64{1, 16, 64} {
			o := same
			o.Version, o.Alignment = version, alignment
			reencoded(t, f, o, b)
			if movable(f) {
				o.Order = tensor.Big - o.Order
				reencoded(t, f, o, b)
			}
		}
	}
}

// movable reports that no tensor depends on the byte order.
func movable(f *gguf.File) bool {
	for i := range f.Tensors() {
		if g, ok := i.DType.Geometry(); !ok || g.Bytes > 1 {
			return false
		}
	}
	return true
}

// reencoded writes a file with other options, reads it and compares.
func reencoded(t *testing.T, f *gguf.File, o gguf.Options, b *limits.Budget) {
	out, err := ggufBytes(b, f, o)
	if class := wire.ClassOf(err); class == wire.Unsupported || class == wire.Limit {
		return
	}
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	back, err := gguf.Decode(b, bytes.NewReader(out), int64(len(out)))
	if wire.ClassOf(err) == wire.Limit {
		return
	}
	if err != nil {
		t.Fatalf("%+v: read back: %v", o, err)
	}
	if back.Version() != o.Version || back.Order() != o.Order || back.Len() > 0 && back.Alignment() != o.Alignment {
		t.Fatalf("%+v: version %d, order %v, alignment %d", o, back.Version(), back.Order(), back.Alignment())
	}
	want, err := ggufText(b, f)
	got, err2 := ggufText(b, back)
	if err := errors.Join(err, err2); err != nil {
		if wire.ClassOf(err) == wire.Limit {
			return
		}
		t.Fatal(err)
	}
	if want != got {
		t.Fatalf("%+v:\nwritten %s\nread    %s", o, want, got)
	}
}

// ggufText returns the content of a file as text: keys with all elements, and tensors with
// their bytes. The alignment is layout.
func ggufText(b *limits.Budget, f *gguf.File) (string, error) {
	var out bytes.Buffer
	for k, v := range f.Meta() {
		if k == "general.alignment" {
			continue
		}
		fmt.Fprintf(&out, "%q ", k)
		if err := writeValue(b, &out, v); err != nil {
			return "", err
		}
	}
	at := 0
	for i := range f.Tensors() {
		fmt.Fprintf(&out, "%q %v %v ", i.Name, f.Type(at), i.Shape)
		at++
		if i.DType == tensor.Unknown {
			continue // its span may hold padding
		}
		r, _ := f.At(i)
		p := make([]byte, i.Span.Len)
		if err := wire.ReadFull(r, p, 0); err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%x\n", p)
	}
	return out.String(), nil
}

func writeValue(b *limits.Budget, w io.Writer, v any) error {
	a, ok := v.(gguf.Array)
	if !ok {
		if f, ok := v.(float32); ok {
			v = math.Float32bits(f)
		}
		if f, ok := v.(float64); ok {
			v = math.Float64bits(f)
		}
		fmt.Fprintf(w, "%T %#v\n", v, v)
		return nil
	}
	fmt.Fprintf(w, "%v:\n", a)
	for v, err := range a.All(b) {
		if err != nil {
			return err
		}
		if err := writeValue(b, w, v); err != nil {
			return err
		}
	}
	return nil
}

// ggufFrom builds a file from a plan: version, order, alignment, keys, tensors, sometimes
// the layout, and edits.
func ggufFrom(plan []byte) []byte {
	next := (*script)(&plan).next
	w := &ggufBuilder{version: 1 + next()%3, big: next()%4 == 3}
	alignment := [...]int{32, 32, 1, 8, 64}[next()%5]
	keys, tensors := next()%6, next()%5
	w.out = append(w.out, "GGUF"...)
	w.num(4, uint64(w.version))
	w.count(tensors)
	stated := 0
	if alignment != 32 {
		stated = 1
	}
	w.count(keys + stated)
	if stated == 1 {
		w.text("general.alignment")
		w.num(4, 4)
		w.num(4, uint64(alignment))
	}
	for i := range keys {
		w.text(ggufKeys[next()%len(ggufKeys)] + string(rune('a'+i)))
		w.value(next, next()%13, 0)
	}
	var sizes []int
	offset := 0
	for i := range tensors {
		w.text(fmt.Sprintf("blk.%d.%c.weight", i, 'a'+next()%20))
		typ := ggufTypes[next()%len(ggufTypes)]
		dims := next() % 5
		w.num(4, uint64(dims))
		size := typ.bytes
		for d := range dims {
			n := next() % 3
			if d == 0 {
				n *= typ.elems
			}
			size *= n
			w.count(n)
		}
		if dims > 0 {
			size /= typ.elems
		}
		w.num(4, uint64(typ.id))
		w.num(8, uint64(offset))
		sizes = append(sizes, size)
		offset += (size + alignment - 1) / alignment * alignment
	}
	for len(w.out)%alignment != 0 && tensors > 0 {
		w.out = append(w.out, 0)
	}
	for _, size := range sizes {
		for range size {
			w.out = append(w.out, byte(next()))
		}
		for pad := (alignment - size%alignment) % alignment; pad > 0; pad-- {
			w.out = append(w.out, 0)
		}
	}
	for len(plan) >= 3 {
		w.out[(next()<<8|next())%len(w.out)] = byte(next())
	}
	return w.out
}

var (
	ggufKeys  = []string{"k", "general.type", "tokenizer.ggml.tokens", "llama.block_count", "tokenizer.ggml.bos_token_id", "é"}
	ggufTypes = []struct{ id, elems, bytes int }{
		{0, 1, 4}, {1, 1, 2}, {2, 32, 18}, {8, 32, 34}, {24, 1, 1}, {26, 1, 4}, {30, 1, 2}, {12, 256, 144}, {41, 128, 18}, {42, 64, 18},
		{4, 32, 0}, {137, 256, 0},
	}
	ggufWidths = []int{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}
)

type ggufBuilder struct {
	out     []byte
	version int
	big     bool
}

func (w *ggufBuilder) num(size int, n uint64) {
	for i := range size {
		shift := 8 * i
		if w.big {
			shift = 8 * (size - 1 - i)
		}
		w.out = append(w.out, byte(n>>shift))
	}
}

func (w *ggufBuilder) count(n int) {
	if w.version == 1 {
		w.num(4, uint64(n))
		return
	}
	w.num(8, uint64(n))
}

func (w *ggufBuilder) text(s string) {
	w.count(len(s))
	w.out = append(w.out, s...)
}

func (w *ggufBuilder) value(next func() int, kind, depth int) {
	w.num(4, uint64(kind))
	w.plain(next, kind, depth)
}

func (w *ggufBuilder) plain(next func() int, kind, depth int) {
	switch kind {
	case 8:
		w.text([]string{"", "a", "llama", "<0x0A>", "é", "\xff", "a\x00"}[next()%7])
	case 9:
		elem := next() % 13
		if elem == 9 && depth > 4 {
			elem = 8
		}
		w.num(4, uint64(elem))
		n := next() % 4
		w.count(n)
		for range n {
			w.plain(next, elem, depth+1)
		}
	case 7:
		w.num(1, uint64(next()%3))
	default:
		w.num(ggufWidths[kind], uint64(next())<<8|uint64(next()))
	}
}

// Some of the built files must be accepted, or the targets test the door.
func TestBuiltModelsAreOftenAccepted(t *testing.T) {
	accepted, built := 0, 0
	for version := range byte(3) {
		for order := range byte(2) {
			for alignment := range byte(5) {
				for kind := range byte(13) {
					for typ := range byte(len(ggufTypes)) {
						if !effort.Whole() && (version+order+alignment+kind+typ)%5 != 0 {
							continue
						}
						built++
						plan := []byte{version, order * 3, alignment, 2, 2, 0, kind, 1, 1, 1, kind, 2, 1, 1}
						plan = append(plan, slices.Repeat([]byte{typ, typ, 1, 1}, 3)...)
						if ggufTarget.Check(t, ggufFrom(plan)) {
							accepted++
						}
					}
				}
			}
		}
	}
	if accepted*4 < built {
		t.Errorf("%d of %d are accepted", accepted, built)
	}
}
