package corpus

import (
	"errors"
	"fmt"
)

// MaxFile bounds what one recipe may build.
const MaxFile = 128 << 20

var errTooLong = fmt.Errorf("the file passes %d MiB", MaxFile>>20)

// A node appends its bytes.
type node func(*builder) error

// A builder holds the bytes of one block so far. A block whose bytes are
// treated as a whole (an entry, deflate, len, ...) has a builder of its own, so
// offsets inside it count from its start.
type builder struct {
	out      []byte
	counters []uint64
}

func (b *builder) room(n uint64) error {
	if n > uint64(MaxFile-len(b.out)) {
		return errTooLong
	}
	return nil
}

func (b *builder) write(p []byte) error {
	if err := b.room(uint64(len(p))); err != nil {
		return err
	}
	b.out = append(b.out, p...)
	return nil
}

// inner builds a block on its own.
func (b *builder) inner(body node) ([]byte, error) {
	child := builder{counters: b.counters}
	err := body(&child)
	return child.out, err
}

func (b *builder) fill(n uint64, v byte) error {
	if err := b.room(n); err != nil {
		return err
	}
	at := len(b.out)
	b.out = append(b.out, make([]byte, n)...)
	if v != 0 {
		for i := range b.out[at:] {
			b.out[at+i] = v
		}
	}
	return nil
}

// repeat builds the body n times; where the body cannot differ from turn to
// turn, once, and copies it.
func (b *builder) repeat(n uint64, body node, differs bool) error {
	if n == 0 {
		return nil
	}
	at := len(b.out)
	b.counters = append(b.counters, 0)
	defer func() { b.counters = b.counters[:len(b.counters)-1] }()
	if err := body(b); err != nil {
		return err
	}
	if !differs {
		size := len(b.out) - at
		if size == 0 {
			return nil
		}
		if n > uint64(MaxFile/size) {
			return errTooLong
		}
		end := at + size*int(n)
		if end > MaxFile {
			return errTooLong
		}
		for len(b.out) < end {
			b.out = append(b.out, b.out[at:at+min(len(b.out)-at, end-len(b.out))]...)
		}
		return nil
	}
	for i := uint64(1); i < n; i++ {
		b.counters[len(b.counters)-1] = i
		if err := body(b); err != nil {
			return err
		}
	}
	return nil
}

// place turns an offset, negative from the end, into an index.
func (b *builder) place(n number) (int, error) {
	size := uint64(len(b.out))
	if n.abs > size {
		return 0, fmt.Errorf("offset %v lies outside of the %d bytes so far", n, size)
	}
	if n.neg {
		return int(size - n.abs), nil
	}
	return int(n.abs), nil
}

// overwrite puts bytes over those that stand at an offset.
func (b *builder) overwrite(at number, p []byte) error {
	start, err := b.place(at)
	if err != nil {
		return err
	}
	if len(p) > len(b.out)-start {
		return errors.New("at: the block reaches past the bytes so far")
	}
	copy(b.out[start:], p)
	return nil
}
