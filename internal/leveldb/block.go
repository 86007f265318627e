package leveldb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// How a block is compressed.
const (
	notPacked = 0
	bySnappy  = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum adds bytes to a checksum, CRC-32C.
func Sum(sum uint32, p []byte) uint32 { return crc32.Update(sum, castagnoli, p) }

// Mask returns a checksum as it is stored: rotated, so that the checksum of bytes with one is none.
func Mask(sum uint32) uint32 { return (sum>>15 | sum<<17) + 0xa282ead8 }

// A block is one in memory.
type block struct {
	t        *reader
	at       int64 // in the file
	packed   bool
	data     []byte
	entries  []byte // of data
	restarts []byte
	held     int64
}

func (bl *block) close() { bl.t.b.Drop(bl.held) }

// hold makes a buffer that close gives back.
func (bl *block) hold(n int) ([]byte, error) {
	p, err := limits.Make[byte](bl.t.b, n)
	if err == nil {
		bl.held += int64(n)
	}
	return p, err
}

// load reads a block.
func (t *reader) load(h handle) (*block, error) {
	bl := &block{t: t, at: h.off}
	if err := bl.read(h); err != nil {
		bl.close()
		return nil, t.fail(h.off, err)
	}
	return bl, nil
}

func (bl *block) read(h handle) error {
	t := bl.t
	size, ok := wire.Int(uint64(h.size), 1<<31-1-trailerLen)
	if !ok {
		return &limits.Error{Axis: limits.SingleAlloc, Want: h.size, Left: 1<<31 - 1}
	}
	if err := t.b.Step(1 + h.size/stepBytes); err != nil {
		return err
	}
	data, err := bl.hold(size + trailerLen)
	if err != nil {
		return err
	}
	if err := wire.ReadInPieces(t.b, t.r, data, h.off); err != nil {
		return err
	}
	if sum := Mask(Sum(0, data[:size+1])); binary.LittleEndian.Uint32(data[size+1:]) != sum {
		return t.causes.Checksum.Errorf("a block of %d bytes has the checksum %08x", size, sum)
	}
	switch bl.data = data[:size]; data[size] {
	case notPacked:
	case bySnappy:
		bl.packed = true
		if err := bl.unpack(); err != nil {
			return err
		}
	default:
		return t.causes.Packing.Errorf("a block that is compressed as number %d", data[size])
	}
	return bl.split()
}

// split finds the entries and the restarts.
func (bl *block) split() error {
	const width = 4
	n := len(bl.data)
	if n < width {
		return bl.t.causes.Restart.Errorf("a block of %d bytes", n)
	}
	count := binary.LittleEndian.Uint32(bl.data[n-width:])
	if count == 0 || uint64(count) > uint64(n/width-1) {
		return bl.t.causes.Restart.Errorf("%d restarts in a block of %d bytes", count, n)
	}
	from := n - width*(1+int(count))
	bl.entries, bl.restarts = bl.data[:from], bl.data[from:n-width]
	if first := binary.LittleEndian.Uint32(bl.restarts); first != 0 || from == 0 && count > 1 {
		return bl.t.causes.Restart.Errorf("%d restarts, the first at %d", count, first)
	}
	return nil
}

// each gives the entries to row. They ascend, and the restarts are some of them.
func (bl *block) each(row Row) error {
	t := bl.t
	room, err := bl.hold(len(bl.entries)) // a key is made of bytes of the entries, each once
	if err != nil {
		return t.fail(bl.at, err)
	}
	all := wire.NewCursor(t.b, t.format, bytes.NewReader(bl.entries), int64(len(bl.entries)))
	key, restarts := room[:0], bl.restarts
	for at := 0; at < len(bl.entries); {
		e, ok := entryOf(bl.entries[at:])
		if err := t.steps.Take(1 + int64(e.own)/stepBytes); err != nil {
			return bl.fail(at, err)
		}
		if !ok || e.shared > len(key) {
			return bl.fail(at, t.causes.Entry.Errorf("it does not fit the block, or shares more than the key before it has"))
		}
		restart := len(restarts) > 0 && binary.LittleEndian.Uint32(restarts) == uint32(at)
		if restart && e.shared != 0 {
			return bl.fail(at, t.causes.Restart.Errorf("an entry that shares %d bytes with the key before it", e.shared))
		}
		if restart {
			restarts = restarts[4:]
		}
		own := bl.entries[at+e.head:][:e.own]
		if at > 0 && bytes.Compare(own, key[e.shared:]) <= 0 {
			return bl.fail(at, t.causes.Order.Errorf("key %s is not after the one before", quoted(append(key[:e.shared], own...))))
		}
		key = append(key[:e.shared], own...)
		from := at + e.head + e.own
		if err := all.MoveTo(int64(from)); err != nil {
			return bl.fail(from, err)
		}
		value, err := all.Sub(uint64(e.value))
		if err != nil {
			return bl.fail(from, err)
		}
		if err := row(key, value); err != nil {
			return err
		}
		at = from + e.value
	}
	if len(restarts) > 0 && len(bl.entries) > 0 {
		return bl.fail(len(bl.entries), t.causes.Restart.Errorf("no entry begins at %d", binary.LittleEndian.Uint32(restarts)))
	}
	return nil
}

// An entry has a head, its part of the key, and the value.
type entry struct{ head, shared, own, value int }

// entryOf reads the head of an entry, which fits what is left of its block.
func entryOf(p []byte) (e entry, ok bool) {
	for _, to := range []*int{&e.shared, &e.own, &e.value} {
		v, n := varint(p[e.head:min(len(p), e.head+binary.MaxVarintLen32)])
		if n == 0 || v > math.MaxInt32 {
			return entry{}, false
		}
		*to, e.head = int(v), e.head+n
	}
	return e, e.own <= len(p)-e.head && e.value <= len(p)-e.head-e.own
}

// fail places a cause at a byte of the entries; of a compressed block, at the block.
func (bl *block) fail(at int, cause error) error {
	if bl.packed {
		at = 0
	}
	return bl.t.fail(bl.at+int64(at), cause)
}

// quoted shows the beginning of a key.
func quoted(key []byte) string { return wire.Quote(string(key[:min(len(key), wire.MaxQuoted+1)])) }

// moved gives an error about an entry its place in the file.
func (bl *block) moved(err error) error {
	at, ok := errors.AsType[*wire.Error](err)
	if !ok || at.Off < 0 {
		return err
	}
	off := bl.at
	if !bl.packed {
		off += at.Off
	}
	return &wire.Error{Format: at.Format, Where: at.Where, Off: off, Err: at.Err}
}
