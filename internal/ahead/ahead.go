// Package ahead reads a stream while what was read before is worked on.
package ahead

import "io"

// Each reads in pieces with read, and gives each piece to take, in order. While take has
// one of the two buffers, a goroutine reads into the other; it has ended when Each
// returns. A piece is valid until take returns.
//
// read is that of an [io.Reader], and is called by one goroutine at a time. Each ends with
// the first error of take, or with that of read once take had all that was read before it;
// io.EOF is no error. A panic of read is a panic of Each.
func Each(read func([]byte) (int, error), bufs [2][]byte, take func([]byte) error) error {
	empty, full := make(chan []byte, len(bufs)), make(chan piece, len(bufs))
	for _, buf := range bufs {
		empty <- buf
	}
	go func() {
		defer close(full)
		for buf := range empty {
			p := fill(read, buf)
			full <- p
			if p.err != nil || p.panicked != nil {
				return
			}
		}
	}()
	defer func() {
		close(empty)
		for range full { // until the goroutine has ended
		}
	}()
	for p := range full {
		if p.panicked != nil {
			panic(p.panicked)
		}
		if err := take(p.buf[:p.n]); err != nil {
			return err
		}
		if p.err == io.EOF {
			return nil
		}
		if p.err != nil {
			return p.err
		}
		empty <- p.buf
	}
	return nil
}

// A piece is what one call of read gave.
type piece struct {
	buf      []byte // the whole buffer
	n        int
	err      error
	panicked any
}

// fill reads once. What panics in a goroutine would end the process, whatever the caller
// recovers from, so it is handed over.
func fill(read func([]byte) (int, error), buf []byte) (p piece) {
	p.buf = buf
	defer func() { p.panicked = recover() }()
	p.n, p.err = read(buf)
	return p
}
