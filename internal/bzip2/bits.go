package bzip2

import "io"

// bits reads bits, highest first.
type bits struct {
	r    io.ByteReader
	held uint64 // the lowest n bits are not yet read
	n    uint
	err  error // of r, once it gives no more
}

// fill tries to hold n bits, at most 57, and returns how many are held.
func (b *bits) fill(n uint) uint {
	for b.n < n && b.err == nil {
		c, err := b.r.ReadByte()
		if err != nil {
			b.err = err
			break
		}
		b.held = b.held<<8 | uint64(c)
		b.n += 8
	}
	return b.n
}

// read returns the next n bits, at most 32.
func (b *bits) read(n uint) (uint32, error) {
	if b.n < n && b.fill(n) < n {
		return 0, b.end()
	}
	b.n -= n
	return uint32(b.held>>b.n) & (1<<n - 1), nil
}

// peek returns the next n bits, zeros in the place of those behind the end.
func (b *bits) peek(n uint) uint32 {
	if have := b.n; have < n {
		if have = b.fill(n); have < n {
			return uint32(b.held<<(n-have)) & (1<<n - 1)
		}
	}
	return uint32(b.held>>(b.n-n)) & (1<<n - 1)
}

// skip skips n bits that were examined.
func (b *bits) skip(n uint) error {
	if b.n < n {
		return b.end()
	}
	b.n -= n
	return nil
}

// end is the error of data that ends within a stream.
func (b *bits) end() error {
	if b.err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return b.err
}
