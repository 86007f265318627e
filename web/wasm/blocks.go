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

// A blocks reads a file of the browser in large pieces and keeps the last few: a parser reads a few
// bytes at a time, and each call of the browser is expensive.
type blocks struct {
	read js.Value // takes an offset and a length, gives a Uint8Array or throws
	size int64
	kept [blockMany]block
	turn int64
}

type block struct {
	index, used int64
	data        []byte
}

func newBlocks(read js.Value, size int64) *blocks {
	b := &blocks{read: read, size: size}
	for i := range b.kept {
		b.kept[i].index = -1
	}
	return b
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
	b.turn++
	oldest := &b.kept[0]
	for i := range b.kept {
		k := &b.kept[i]
		if k.index == index {
			k.used = b.turn
			return k.data, nil
		}
		if k.used < oldest.used {
			oldest = k
		}
	}
	want := min(blockSize, b.size-index*blockSize)
	if oldest.data == nil {
		oldest.data = make([]byte, blockSize)
	}
	oldest.index, oldest.data = -1, oldest.data[:want] // the last block is shorter
	if err := b.fetch(oldest.data, index*blockSize); err != nil {
		return nil, err
	}
	oldest.index, oldest.used = index, b.turn
	return oldest.data, nil
}

// fetch reads from the browser, which throws if the file was changed or removed.
func (b *blocks) fetch(p []byte, off int64) (err error) {
	defer func() {
		if thrown, ok := recover().(js.Error); ok {
			err = fmt.Errorf("the browser: %s", thrown.Error())
		}
	}()
	got := b.read.Invoke(float64(off), len(p))
	if n := js.CopyBytesToGo(p, got); n != len(p) {
		return fmt.Errorf("the browser: %d bytes at %d in place of %d", n, off, len(p))
	}
	return nil
}
