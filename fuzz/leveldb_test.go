package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sort"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/leveldb"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

var tableCauses = leveldb.Causes{
	Magic: wire.ErrMagic, Layout: wire.ErrMismatch, Checksum: wire.ErrChecksum, Packing: wire.ErrUnsupported, Packed: wire.ErrSyntax,
	Entry: wire.ErrRange, Order: wire.ErrMismatch, Restart: wire.ErrMismatch, Filter: wire.ErrUnsupported,
}

// tableOf is a table with one block, of entries and restarts, which has the given compression.
func tableOf(data []byte, packing byte) []byte {
	stored := func(data []byte, packing byte) []byte {
		data = append(bytes.Clone(data), packing)
		return binary.LittleEndian.AppendUint32(data, leveldb.Mask(leveldb.Sum(0, data)))
	}
	place := func(off, size int) []byte {
		return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(off)), uint64(size))
	}
	restarts := []byte{0, 0, 0, 0, 1, 0, 0, 0}
	at := place(0, len(data))
	list := append(append([]byte{0, 4, byte(len(at))}, "\xff\xff\xff\xff"...), at...)
	out := stored(data, packing)
	footer := place(len(out), len(restarts))
	out = append(out, stored(restarts, 0)...)
	footer = append(footer, place(len(out), len(list)+len(restarts))...)
	out = append(out, stored(append(list, restarts...), 0)...)
	return append(append(append(out, footer...), make([]byte, 40-len(footer))...), leveldb.Magic...)
}

// sought finds a key as LevelDB does: by halves among the restarts, then one entry after the other. The block was proven.
func sought(block []byte, want string) (value string, ok bool) {
	count := int(binary.LittleEndian.Uint32(block[len(block)-4:]))
	entries := block[:len(block)-4*(1+count)]
	restart := func(i int) int { return int(binary.LittleEndian.Uint32(block[len(entries)+4*i:])) }
	next := func(at int, key []byte) (string, string, int) {
		var n [3]int
		for i := range n {
			v, used := binary.Uvarint(entries[at:])
			n[i], at = int(v), at+used
		}
		key = append(bytes.Clone(key[:n[0]]), entries[at:at+n[1]]...)
		return string(key), string(entries[at+n[1]:][:n[2]]), at + n[1] + n[2]
	}
	i := sort.Search(count, func(i int) bool {
		key, _, _ := next(restart(i), nil)
		return key >= want
	})
	for at, key := restart(max(i-1, 0)), ""; at < len(entries); {
		if key, value, at = next(at, []byte(key)); key >= want {
			return value, key == want
		}
	}
	return "", false
}

// FuzzLevelDB tests that a table says the same twice, that its keys ascend, that whoever looks for one of them finds what those find
// who list them, that a refusal has a class, and that nothing stays charged. The bytes are those of one block, whose checksum is true.
func FuzzLevelDB(f *testing.F) {
	for _, seed := range []string{
		"\x00\x00\x01h\x00\x01\x02axy\x01\x01\x00b\x00\x00\x00\x00\x01\x00\x00\x00",
		"\x00\x01\x01aX\x00\x01\x01bY\x00\x00\x00\x00\x05\x00\x00\x00\x02\x00\x00\x00",
		"\x00\x03\x01abcX\x02\x01\x00d\x00\x00\x00\x00\x01\x00\x00\x00", "\x00\x01\x05a", "\x05\x01\x00a\x00\x00\x00\x00\x01\x00\x00\x00",
	} {
		f.Add([]byte(seed), byte(0))
	}
	f.Add([]byte("\x0d\x30\x00\x01\x01aX\x00\x00\x00\x00\x01\x00\x00\x00"), byte(1))
	f.Add([]byte("\x10\x04\x00\x09\x00\x0d\x01\x08\x01\x00\x00\x00"), byte(1))
	f.Fuzz(func(t *testing.T, data []byte, packing byte) {
		table := tableOf(data, packing)
		read := func() string {
			b := limits.Policy{MaxTotalBytes: 1 << 20, MaxSteps: 1 << 16}.Budget(t.Context())
			defer b.Close()
			w := b.Probe()
			defer limitstest.NoLeak(t, b)
			defer w.Close()
			said, last, all := "", "", map[string]string{}
			err := leveldb.Read(w, "t", bytes.NewReader(table), int64(len(table)), &tableCauses, func(key []byte, value wire.Cursor) error {
				v, err := value.Bytes(uint64(value.Left()))
				if err != nil {
					return err
				}
				if said != "" && string(key) <= last {
					t.Errorf("%q after %q", key, last)
				}
				last = string(key)
				all[last] = string(v)
				said += fmt.Sprintf("%q=%q;", key, v)
				return nil
			})
			if err != nil {
				return said + classed(t, err)
			}
			for key, value := range all {
				if packing != 0 {
					break
				}
				if found, ok := sought(data, key); !ok || found != value {
					t.Errorf("%q is %q, and %q, %t to those who look for it", key, value, found, ok)
				}
			}
			return said
		}
		if first, again := read(), read(); first != again {
			t.Fatalf("%s, then %s", first, again)
		}
		if !leveldb.Is(bytes.NewReader(table), int64(len(table))) || leveldb.Is(io.NewSectionReader(bytes.NewReader(table), 0, 47), 47) {
			t.Error("a table that does not end like one")
		}
	})
}
