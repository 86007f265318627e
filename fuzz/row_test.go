package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant/ggml/imatrix"
)

// FuzzRow encodes rows of finite numbers in every block type, with and without an
// importance matrix. Every byte must be written, the decoded values must be finite unless
// the numbers are near the limit of float16, and every level of this machine must write
// the same bytes.
func FuzzRow(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 128, 191}, uint8(0))
	f.Add(bytes.Repeat([]byte{1, 0, 0, 0, 255, 255, 127, 127}, 40), uint8(11))
	f.Add(bytes.Repeat([]byte{0, 0, 0, 128}, 300), uint8(7))
	f.Add([]byte("000000000000000_"), uint8(asm.Q3_K)) // 1.3e19: the scale of its group is infinite
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		k := asm.Kind(int(which) % int(asm.Kinds))
		if !k.Encodes() {
			return
		}
		row := make([]float32, 2*k.Elems())
		largest := float32(0)
		for i := range row {
			if len(data) >= 4 {
				if v := math.Float32frombits(binary.LittleEndian.Uint32(data)); v-v == 0 {
					row[i] = v
				}
				data = data[4:]
			}
			largest = max(largest, float32(math.Abs(float64(row[i]))))
		}
		matrix := make([]float32, len(row))
		for i := range matrix {
			matrix[i] = float32(i%7) / 3
		}
		for _, m := range [][]float32{nil, matrix} {
			one, other := make([]byte, 2*k.Bytes()), bytes.Repeat([]byte{0xA5}, 2*k.Bytes())
			k.EncodeRow(one, row, m)
			k.EncodeRow(other, row, m)
			if !bytes.Equal(one, other) {
				t.Fatalf("%v: what stood there before shows", k)
			}
			for _, level := range asm.Machine() {
				o := asm.For(level.Features())
				o.EncodeRow(k, other, row, m)
				if !bytes.Equal(one, other) {
					t.Fatalf("%v: %v writes other bytes", k, level)
				}
			}
			back := make([]float32, len(row))
			k.Decode(back, one)
			for i, v := range back {
				if v-v != 0 && largest < 1000 {
					t.Fatalf("%v: element %d of %g became %g", k, i, row[i], v)
				}
			}
		}
	})
}

// FuzzImportance reads importance matrices, in GGUF and in the older format.
func FuzzImportance(f *testing.F) {
	addSeeds(f, "imatrix")
	entry := "\x01\x00\x00\x00" + "\x01\x00\x00\x00a" + "\x02\x00\x00\x00" + "\x01\x00\x00\x00" + "\x00\x00\x80\x3f"
	for _, s := range []string{entry, entry + "\x05\x00\x00\x00\x01\x00\x00\x00d", "\xff\xff\xff\x7f" + entry[4:], entry[:12], "GGUF\x03\x00\x00\x00", ""} {
		f.Add([]byte(s))
	}
	read := func(b *limits.Budget, r io.ReaderAt, size int64) (string, error) {
		m, err := imatrix.Read(b, r, size)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(m.Chunks, m.Dataset, m.Len()), nil
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzz.Target{
			Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
				s, err := read(b, r, size)
				return fuzz.Text(s), err
			},
			Measured: func(b *limits.Budget, r io.ReaderAt, size int64) error {
				_, err := read(b, r, size)
				return err
			},
		}.Check(t, data)
	})
}
