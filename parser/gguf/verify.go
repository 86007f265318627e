package gguf

import (
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A verifier reads what Decode skipped.
type verifier struct {
	reader
	out    *File
	vocab  *vocabulary // while the tokens are being read, else nil
	tokens *vocabulary // once the tokens are read
	nulAt  int64       // offset of the first NUL that the quirk allowed, or 0
	nulKey string
	long   []byte // buffer for a text longer than a window
	small  [4096]byte
}

func (v *verifier) run() error {
	f := v.out
	defer func() { v.b.Drop(int64(cap(v.long))) }()
	whole := v.c
	for i := range f.pairs {
		p := &f.pairs[i]
		if p.kind != KindArray {
			continue
		}
		v.c = whole
		if err := v.checkArray(p); err != nil {
			return within(place("key", i, p.key), v.c.Off(), err)
		}
	}
	v.c = whole
	if err := v.checkPaddings(); err != nil {
		return wire.At(Format, "padding", v.c.Off(), err)
	}
	return v.findings()
}

// checkArray checks one array. In the array of tokens it also looks for duplicates.
func (v *verifier) checkArray(p *pair) error {
	if err := v.open(p.body); err != nil {
		return err
	}
	nulBefore := v.nulAt
	if p.key == tokensKey && p.elem == KindString {
		vocab, err := newVocabulary(v, p)
		if err != nil {
			return err
		}
		v.vocab, v.tokens = vocab, vocab
		defer vocab.close()
	}
	err := v.checkElements(p.elem, p.num)
	v.vocab = nil
	if v.nulAt != nulBefore {
		v.nulKey = p.key
	}
	return err
}

func (v *verifier) checkElements(elem Kind, n uint64) error {
	if err := v.b.Enter(); err != nil {
		return err
	}
	defer v.b.Leave()
	switch elem {
	case KindString:
		return v.checkStrings(n)
	case KindArray:
		return v.checkArrays(n)
	case KindBool:
		return v.checkBools(n)
	default:
		return v.c.Skip(n * elem.size())
	}
}

func (v *verifier) checkArrays(n uint64) error {
	for range n {
		if err := v.steps.Step(); err != nil {
			return err
		}
		elem, m, err := v.arrayHead()
		if err != nil {
			return err
		}
		if err := v.checkElements(elem, m); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) checkBools(n uint64) error {
	for n > 0 {
		w, err := v.c.Window(1)
		if err != nil {
			return err
		}
		w = w[:min(uint64(len(w)), n)]
		for i, b := range w {
			if b > 1 {
				return v.c.FailAt("", v.c.Off()+int64(i), wire.ErrRange.WithRule("gguf.bool").Errorf("a boolean is 0 or 1, not %d", b))
			}
		}
		if err := v.b.Step(1); err != nil {
			return err
		}
		n -= uint64(len(w))
		if err := v.c.Skip(uint64(len(w))); err != nil {
			return err
		}
	}
	return nil
}

// checkStrings checks n texts: those that are whole in a window of the file, then the one that
// is not.
func (v *verifier) checkStrings(n uint64) error {
	width := v.f.width()
	for i := uint64(0); i < n; {
		w, err := v.c.Window(int(width))
		if err != nil {
			return err
		}
		off, at := v.c.Off(), uint64(0)
		for ; i < n; i++ {
			size, ok := v.size(w, at)
			if !ok || size > uint64(len(w))-at-width {
				break
			}
			if err := v.checkText(i, off+int64(at), w[at+width:at+width+size]); err != nil {
				return err
			}
			at += width + size
		}
		if err := v.c.Skip(at); err != nil {
			return err
		}
		if i < n {
			if err := v.checkCrossing(i); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

// size reads the length of a text in a window; ok is false if the window does not hold
// all of it.
func (v *verifier) size(w []byte, at uint64) (uint64, bool) {
	if v.f.version == 1 {
		if at+4 > uint64(len(w)) {
			return 0, false
		}
		return uint64(v.c.Order.Uint32(w[at:])), true
	}
	if at+8 > uint64(len(w)) {
		return 0, false
	}
	return v.c.Order.Uint64(w[at:]), true
}

// checkCrossing checks the text at the cursor, which no window holds whole.
func (v *verifier) checkCrossing(i uint64) error {
	off := v.c.Off()
	size, err := v.count()
	if err != nil {
		return err
	}
	if size > uint64(v.c.Left()) {
		return v.c.FailAt("", off, wire.ErrRange.WithRule("gguf.string-crosses").Errorf("a string of %d bytes, but the array has %d left", size, v.c.Left()))
	}
	p, err := v.bytes(size)
	if err != nil {
		return err
	}
	if err := v.checkText(i, off, p); err != nil {
		return err
	}
	return v.c.Skip(size)
}

// checkText checks one text, whose length is at off.
func (v *verifier) checkText(i uint64, off int64, p []byte) error {
	if err := v.steps.Step(); err != nil {
		return err
	}
	if !goodText(p) {
		if err := v.badText(off+int64(v.f.width()), p); err != nil {
			return err
		}
	}
	if v.vocab != nil {
		return v.vocab.add(i, off, p)
	}
	return nil
}

func (v *verifier) badText(off int64, p []byte) error {
	if i := badText(p, v.nul); i >= 0 {
		return v.c.FailAt("", off+int64(i), wire.ErrText.WithRule("gguf.text-invalid").Errorf("element %s", textFault(p[i])))
	}
	if v.nulAt == 0 {
		v.nulAt = off
	}
	return nil
}

// bytes returns the next n bytes without moving the cursor: from the window, or in a
// buffer that is reused.
func (v *verifier) bytes(size uint64) ([]byte, error) {
	n, ok := wire.Int(size, wire.MaxSize)
	if !ok {
		return nil, &limits.Error{Axis: limits.SingleAlloc, Want: int64(size), Left: math.MaxInt32}
	}
	if n <= wire.Chunk {
		return v.c.View(n)
	}
	if len(v.long) < n {
		long, err := limits.Grow(v.b, v.long, n-len(v.long))
		if err != nil {
			return nil, err
		}
		v.b.Drop(int64(cap(v.long)))
		v.long = long[:cap(long)]
	}
	p := v.long[:n]
	return p, wire.ReadFull(v.f.r, p, v.c.Off())
}

// checkPaddings checks that the bytes between header and data, and after each tensor, are
// zero. Content could hide in bytes that no reader examines.
func (v *verifier) checkPaddings() error {
	f := v.out
	if err := v.checkZeros(f.headerEnd, min(f.dataStart, f.size)); err != nil {
		return err
	}
	if n := len(f.Infos); n > 0 && f.Infos[n-1].DType == tensor.Unknown && f.Infos[n-1].Span.Len > 0 {
		// The tensor extends to the end of the file, wherever that is said to be.
		if err := wire.ReadFull(f.r, v.small[:1], f.size-1); err != nil {
			return wire.At(Format, place("tensor", n-1, f.Infos[n-1].Name), f.Infos[n-1].Span.Off, err)
		}
	}
	for i := range f.Infos {
		if f.Infos[i].DType == tensor.Unknown {
			continue // the used part of its span is unknown
		}
		end := f.Infos[i].Span.End()
		padded, _ := pad(uint64(end-f.dataStart), f.alignment)
		if err := v.checkZeros(end, min(f.dataStart+int64(padded), f.size)); err != nil {
			return err
		}
	}
	return nil
}

// checkZeros checks that a range of the file is zero.
func (v *verifier) checkZeros(from, to int64) error {
	for from < to {
		if err := v.steps.Step(); err != nil {
			return err
		}
		p := v.small[:min(to-from, int64(len(v.small)))]
		if err := wire.ReadFull(v.f.r, p, from); err != nil {
			return wire.At(Format, "padding", from, err)
		}
		if i := wire.NonZero(p); i >= 0 {
			return wire.At(Format, "padding", from+int64(i), wire.ErrGap.WithRule("gguf.padding").Errorf("byte %#02x where padding is zero", p[i]))
		}
		from += int64(len(p))
	}
	return nil
}
