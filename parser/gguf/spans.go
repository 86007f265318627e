package gguf

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// spans proves where the tensors are: each begins where the previous one ends, padded to
// the alignment, and the last one ends the file. The whole table is checked before the
// size of the file.
func (d *decoder) spans() error {
	f := d.out
	f.headerEnd = d.c.Off()
	start, ok := pad(uint64(f.headerEnd), f.alignment)
	if !ok {
		return d.c.Fail("", wire.ErrOverflow.WithRule("gguf.data-overflow").Errorf("data section"))
	}
	f.dataStart = int64(start)
	if len(f.Infos) == 0 {
		return d.fileEnd(uint64(f.headerEnd))
	}
	next := uint64(0) // where the next tensor is expected, from start
	short := -1       // the first tensor that is not inside the file
	for i := range f.Infos {
		if err := d.steps.Step(); err != nil {
			return err
		}
		var err error
		if next, err = d.span(i, next); err != nil {
			return within(place("tensor", i, f.Infos[i].Name), f.offsetAt(i), err)
		}
		if short < 0 && f.Infos[i].Span.End() > f.size {
			short = i
		}
	}
	if start > uint64(f.size) {
		return d.c.Fail("", wire.ErrTruncated.Errorf("the data section begins at %#x, but the file has %#x bytes", start, f.size))
	}
	if short >= 0 {
		info := &f.Infos[short]
		return d.c.FailAt(place("tensor", short, info.Name), f.offsetAt(short), d.cut(short))
	}
	if err := d.b.Expand(int64(d.expanded)); err != nil {
		return d.c.Fail("tensors", err)
	}
	return d.lastSpan()
}

// lastSpan ends the data section.
func (d *decoder) lastSpan() error {
	f := d.out
	last := &f.Infos[len(f.Infos)-1]
	if last.DType == tensor.Unknown {
		last.Span.Len = f.size - last.Span.Off
		f.dataEnd = f.size
		d.stage = stFindings
		return nil
	}
	return d.fileEnd(uint64(last.Span.End()))
}

// span places one tensor and returns where the next one is expected.
func (d *decoder) span(i int, next uint64) (uint64, error) {
	f := d.out
	info, offset := &f.Infos[i], f.rows[i].offset
	open := i > 0 && f.Infos[i-1].DType == tensor.Unknown // the previous tensor, of unknown size, extends to this one
	switch {
	case offset%uint64(f.alignment) != 0:
		return 0, wire.ErrAlign.WithRule("gguf.offset-unaligned").Errorf("offset %d is not a multiple of %d", offset, f.alignment)
	case offset < next && i > 0 && d.ternary(i-1, offset):
		return 0, errTernary()
	case offset < next:
		return 0, wire.ErrOverlap.WithRule("gguf.tensor-overlap").Errorf("offset %d, but the previous tensor ends at %d%s", offset, next, d.hint(i))
	case offset > next && !open && !d.b.Policy().Quirk(QuirkGaps):
		return 0, wire.ErrGap.WithRule("gguf.hole").Errorf("offset %d, expected %d%s", offset, next, d.hint(i))
	}
	at, ok := wire.Add(uint64(f.dataStart), offset)
	if !ok {
		return 0, wire.ErrOverflow.WithRule("gguf.data-overflow").Errorf("offset %d", offset)
	}
	end, ok := wire.Add(at, uint64(info.Span.Len))
	if !ok {
		return 0, wire.ErrOverflow.WithRule("gguf.data-overflow").Errorf("offset %d, %d bytes", offset, info.Span.Len)
	}
	// No overflow: the data begin at a multiple of the alignment that is not 0, and end fits 63 bits.
	next, _ = pad(end-uint64(f.dataStart), f.alignment)
	if open {
		before := &f.Infos[i-1]
		before.Span.Len = int64(at) - before.Span.Off
	}
	info.Span.Off = int64(at)
	return next, nil
}

// cut returns the error for tensor i, which ends beyond the end of the file.
func (d *decoder) cut(i int) error {
	f := d.out
	if i == len(f.Infos)-1 && d.ternary(i, uint64(f.size-f.dataStart)) {
		return errTernary()
	}
	return wire.ErrTruncated.Errorf("needs the bytes up to %#x, but the file has %#x", f.Infos[i].Span.End(), f.size)
}

// ternary reports whether a tensor of type 42 ends at next, relative to the data, if its
// blocks have 256 elements and 42 bytes. A pull request wrote STQ1_0 as type 42 before
// that became Q2_0.
func (d *decoder) ternary(i int, next uint64) bool {
	info := &d.out.Infos[i]
	n := info.Elements()
	if info.DType != tensor.Q2_0 || n <= 0 || n%256 != 0 {
		return false
	}
	end := uint64(info.Span.Off-d.out.dataStart) + uint64(n/256)*42
	padded, ok := pad(end, d.out.alignment)
	return ok && end <= next && next <= padded
}

func errTernary() error {
	return wire.ErrUnsupported.WithRule("gguf.ternary").Errorf("STQ1_0 of %s, written as type 42 before that number became Q2_0: quantize the original model again", stqFork)
}

// hint returns a known reason for a file that is a few bytes too short.
func (d *decoder) hint(i int) string {
	if i > 0 && d.out.Infos[i-1].DType == tensor.Q2_0 {
		return " (some forks write type 42 in blocks of 128 elements, 34 bytes)"
	}
	return ""
}

// fileEnd checks that only padding follows the last byte with a meaning. Writers may omit
// that padding.
func (d *decoder) fileEnd(end uint64) error {
	f := d.out
	padded, ok := pad(end, f.alignment)
	if ok && f.dataStart <= f.size && len(f.Infos) > 0 {
		padded, ok = pad(end-uint64(f.dataStart), f.alignment)
		padded += uint64(f.dataStart)
	}
	if ok && uint64(f.size) > padded {
		return d.c.FailAt("", int64(padded), wire.ErrTrailing.WithRule("gguf.data-trailing").Errorf("%d unused bytes", uint64(f.size)-padded))
	}
	f.dataEnd = int64(end)
	d.stage = stFindings
	return nil
}

// pad rounds n up to a multiple of the alignment, a power of two.
func pad(n uint64, alignment int64) (uint64, bool) {
	sum, ok := wire.Add(n, uint64(alignment)-1)
	return sum &^ (uint64(alignment) - 1), ok
}
