//go:build js && wasm

package main

import (
	"errors"
	"fmt"
	"io"
	"syscall/js"
)

const (
	blockSize = 1 << 20
	blockMany = 8
)

// A cache keeps the last few large pieces of all files of a source: a parser reads a few bytes at
// a time, and each call of the browser is expensive.
type cache struct {
	kept [blockMany]block
	turn int64
}

type block struct {
	of          *blocks // nil if there is nothing in it
	index, used int64
	data        []byte
}

// A blocks reads a file of the browser through a cache.
type blocks struct {
	cache *cache
	read  func(off float64, n int) js.Value // gives a Uint8Array or throws
	size  int64
}

func newBlocks(c *cache, size int64, read func(off float64, n int) js.Value) *blocks {
	return &blocks{c, read, size}
}

// ReadAt implements io.ReaderAt.
func (b *blocks) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("an offset before the file")
	}
	n := 0
	for n < len(p) {
		if off >= b.size {
			return n, io.EOF
		}
		data, err := b.block(off / blockSize)
		if err != nil {
			return n, err
		}
		k := copy(p[n:], data[off%blockSize:])
		n += k
		off += int64(k)
	}
	return n, nil
}

// block returns the piece with an index. If it is not kept, it replaces the piece that was not used
// for the longest time.
func (b *blocks) block(index int64) ([]byte, error) {
	c := b.cache
	c.turn++
	oldest := &c.kept[0]
	for i := range c.kept {
		k := &c.kept[i]
		if k.of == b && k.index == index {
			k.used = c.turn
			return k.data, nil
		}
		if k.used < oldest.used {
			oldest = k
		}
	}
	want := min(blockSize, b.size-index*blockSize)
	if int64(cap(oldest.data)) < want {
		oldest.data = make([]byte, want)
	}
	oldest.of, oldest.data = nil, oldest.data[:want] // the last block is shorter
	if err := b.fetch(oldest.data, index*blockSize); err != nil {
		return nil, err
	}
	oldest.of, oldest.index, oldest.used = b, index, c.turn
	return oldest.data, nil
}

// fetch reads from the browser, which throws if the file was changed or removed.
func (b *blocks) fetch(p []byte, off int64) (err error) {
	defer func() {
		if thrown, ok := recover().(js.Error); ok {
			err = fmt.Errorf("the browser: %s", thrown.Error())
		}
	}()
	got := b.read(float64(off), len(p))
	if n := js.CopyBytesToGo(p, got); n != len(p) {
		return fmt.Errorf("the browser: %d bytes at %d in place of %d", n, off, len(p))
	}
	return nil
}
