package leveldb_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"

	"github.com/anamnesis-go/anamnesis/internal/leveldb"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

var causes = leveldb.Causes{
	Magic: wire.ErrMagic, Layout: wire.ErrMismatch, Checksum: wire.ErrChecksum, Packing: wire.ErrUnsupported, Packed: wire.ErrSyntax,
	Entry: wire.ErrRange, Order: wire.ErrDuplicate, Restart: wire.ErrGap, Filter: wire.ErrOverlap,
}

// A row is an entry of a test.
type row struct{ key, value string }

// blockOf writes entries with a restart every few of them, as LevelDB's block_builder.cc does.
func blockOf(rows []row, every int) []byte {
	var out []byte
	var restarts []uint32
	last := ""
	for i, r := range rows {
		shared := 0
		if i%every == 0 {
			restarts = append(restarts, uint32(len(out)))
		} else {
			for shared < min(len(last), len(r.key)) && last[shared] == r.key[shared] {
				shared++
			}
		}
		for _, n := range []int{shared, len(r.key) - shared, len(r.value)} {
			out = binary.AppendUvarint(out, uint64(n))
		}
		out = append(append(out, r.key[shared:]...), r.value...)
		last = r.key
	}
	if restarts == nil {
		restarts = []uint32{0}
	}
	for _, n := range append(restarts, uint32(len(restarts))) {
		out = binary.LittleEndian.AppendUint32(out, n)
	}
	return out
}

// tableOf writes a table of blocks, with Snappy or without.
func tableOf(blocks [][]row, pack bool) []byte {
	var out []byte
	put := func(data []byte, packing byte) string {
		place := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(out))), uint64(len(data)))
		data = append(bytes.Clone(data), packing)
		out = binary.LittleEndian.AppendUint32(append(out, data...), leveldb.Mask(leveldb.Sum(0, data)))
		return string(place)
	}
	var index []row
	for _, rows := range blocks {
		data, packing := blockOf(rows, 16), byte(0)
		if pack {
			data, packing = snappy.Encode(nil, data), 1
		}
		index = append(index, row{rows[len(rows)-1].key, put(data, packing)})
	}
	footer := put(blockOf(nil, 1), 0)
	footer += put(blockOf(index, 1), 0)
	return append(append(out, footer+strings.Repeat("\x00", 40-len(footer))...), leveldb.Magic...)
}

// read lists a table.
func read(t *testing.T, p limits.Policy, data []byte) (list []row, err error) {
	t.Helper()
	b := p.Budget(t.Context())
	defer b.Close()
	w := b.Probe()
	defer limitstest.NoLeak(t, b)
	defer w.Close()
	err = leveldb.Read(w, "t", bytes.NewReader(data), int64(len(data)), &causes, func(key []byte, value wire.Cursor) error {
		v, err := value.Bytes(uint64(value.Left()))
		list = append(list, row{string(key), string(v)})
		return err
	})
	return list, err
}

// Tables of many entries with long and short values, similar keys and several blocks are read as they were made, compressed or
// not.
func TestTablesAreReadAsTheyWereMade(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 60 {
		var want []row
		var blocks [][]row
		n := 1 + r.IntN(80)
		for i := range n {
			value := make([]byte, []int{0, 1, 20, 70, 300, 70000}[r.IntN(6)])
			for k := range value {
				value[k] = byte(r.IntN(1 + r.IntN(256)))
			}
			one := row{fmt.Sprintf("%s/%05d", strings.Repeat("layer", i/9), i), string(value)}
			if i == 0 {
				one.key = ""
			}
			if want = append(want, one); i == 0 || r.IntN(7) == 0 {
				blocks = append(blocks, nil)
			}
			blocks[len(blocks)-1] = append(blocks[len(blocks)-1], one)
		}
		for _, pack := range []bool{false, true} {
			got, err := read(t, limits.Policy{}, tableOf(blocks, pack))
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%d entries in %d blocks, packed %t: %d are read (%v)", n, len(blocks), pack, len(got), err)
			}
		}
	}
}

// Blocks that a policy does not allow are refused before they are made, and an error of the caller ends the reading, at the
// place of the entry in the file, or of its block if that is compressed.
func TestReadingEndsWhereItShould(t *testing.T) {
	rows := [][]row{{{"a", strings.Repeat("x", 5000)}, {"b", "y"}}}
	for _, c := range []struct {
		pack bool
		at   int64
	}{{false, 5000 + 5 + 4}, {true, 0}} {
		data := tableOf(rows, c.pack)
		if _, err := read(t, limits.Policy{MaxSingleAlloc: 2000}, data); !errors.Is(err, limits.ErrLimit) {
			t.Errorf("packed %t: %v", c.pack, err)
		}
		b := limits.Policy{}.Budget(t.Context())
		err := leveldb.Read(b, "t", bytes.NewReader(data), int64(len(data)), &causes, func(key []byte, value wire.Cursor) error {
			if string(key) == "b" {
				return value.Fail("b", wire.ErrUnsupported)
			}
			return nil
		})
		if placed, ok := errors.AsType[*wire.Error](err); !ok || placed.Off != c.at || placed.Where != "b" {
			t.Errorf("packed %t: %v, want it at %#x", c.pack, err, c.at)
		}
		b.Close()
	}
}
