package corpus

import (
	"errors"
	"fmt"
)

// MaxFile bounds the size of a built file.
const MaxFile = 128 << 20

var errTooLong = fmt.Errorf("the file is larger than %d MiB", MaxFile>>20)

// A node appends its bytes to a builder.
type node func(*builder) error

// A builder holds the bytes of one block so far. A block whose bytes are processed
// together (an entry, deflate, len, ...) has its own builder, so offsets in it count from
// its start.
type builder struct {
	out      []byte
	counters []uint64
}

func (b *builder) checkRoom(n uint64) error {
	if n > uint64(MaxFile-len(b.out)) {
		return errTooLong
	}
	return nil
}

func (b *builder) write(p []byte) error {
	if err := b.checkRoom(uint64(len(p))); err != nil {
		return err
	}
	b.out = append(b.out, p...)
	return nil
}

// buildBlock returns the bytes of a block.
func (b *builder) buildBlock(body node) ([]byte, error) {
	child := builder{counters: b.counters}
	err := body(&child)
	return child.out, err
}

func (b *builder) fill(n uint64, v byte) error {
	if err := b.checkRoom(n); err != nil {
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

// repeat builds the body n times, or once and copies it if it cannot differ between
// repetitions.
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

// index converts an offset, negative from the end, to an index.
func (b *builder) index(n number) (int, error) {
	size := uint64(len(b.out))
	if n.abs > size {
		return 0, fmt.Errorf("offset %v lies outside of the %d bytes so far", n, size)
	}
	if n.neg {
		return int(size - n.abs), nil
	}
	return int(n.abs), nil
}

// overwrite replaces the bytes at an offset.
func (b *builder) overwrite(at number, p []byte) error {
	start, err := b.index(at)
	if err != nil {
		return err
	}
	if len(p) > len(b.out)-start {
		return errors.New("at: the block reaches past the bytes so far")
	}
	copy(b.out[start:], p)
	return nil
}
