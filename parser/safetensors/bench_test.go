package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// synthetic is the header of n tensors as the reference writes it, with names
// of a large mixture-of-experts model, and the size of its file.
func synthetic(n int) (header []byte, size int64) {
	var s bytes.Buffer
	s.WriteString("\x00\x00\x00\x00\x00\x00\x00\x00{")
	off := int64(0)
	for i := range n {
		if i > 0 {
			s.WriteByte(',')
		}
		end := off + 2048*1408*2
		fmt.Fprintf(&s, `"model.layers.%d.mlp.experts.%d.gate.weight":{"dtype":"BF16","shape":[2048,1408],"data_offsets":[%d,%d]}`, i/256, i%256, off, end)
		off = end
	}
	return finish(&s), int64(s.Len()) + off
}

// small is a header of n tensors of no bytes and the shortest names there are.
func small(n int) (header []byte, size int64) {
	var s bytes.Buffer
	s.WriteString("\x00\x00\x00\x00\x00\x00\x00\x00{")
	for i := range n {
		if i > 0 {
			s.WriteByte(',')
		}
		fmt.Fprintf(&s, `"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, i)
	}
	return finish(&s), int64(s.Len())
}

// reversed lists n tensors from the last one to the first.
func reversed(n int) (header []byte, size int64) {
	var s bytes.Buffer
	s.WriteString("\x00\x00\x00\x00\x00\x00\x00\x00{")
	for i := n - 1; i >= 0; i-- {
		fmt.Fprintf(&s, `"model.layers.%d.weight":{"dtype":"BF16","shape":[64,64],"data_offsets":[%d,%d]},`, i, i*8192, (i+1)*8192)
	}
	s.Truncate(s.Len() - 1)
	return finish(&s), int64(s.Len()) + int64(n)*8192
}

func finish(s *bytes.Buffer) []byte {
	s.WriteByte('}')
	for s.Len()%8 != 0 {
		s.WriteByte(' ')
	}
	binary.LittleEndian.PutUint64(s.Bytes(), uint64(s.Len()-8))
	return s.Bytes()
}

// wide lets a header of any size through.
var wide = limits.Policy{MaxSingleAlloc: 1 << 40, MaxTotalBytes: 1 << 40, MaxItems: 1 << 40, MaxSteps: 1 << 40}

func benchmark(b *testing.B, header []byte, size int64) {
	r := bytes.NewReader(header)
	b.SetBytes(int64(len(header)))
	b.ReportAllocs()
	var charged int64
	for b.Loop() {
		account := wide.Budget(b.Context())
		if _, err := safetensors.Decode(account, r, size); err != nil {
			b.Fatal(err)
		}
		for _, u := range account.Usage() {
			if u.Axis == limits.Total {
				charged = u.Peak
			}
		}
		account.Close()
	}
	b.ReportMetric(float64(charged)/float64(len(header)), "charged/header")
}

func BenchmarkDecode(b *testing.B) {
	b.Run("tensors=100k", func(b *testing.B) {
		header, size := synthetic(100_000)
		benchmark(b, header, size)
	})
	b.Run("tensors=100k,reversed", func(b *testing.B) {
		header, size := reversed(100_000)
		benchmark(b, header, size)
	})
	b.Run("tensors=1.3M", func(b *testing.B) {
		header, size := small(1_300_000)
		benchmark(b, header, size)
	})
}
