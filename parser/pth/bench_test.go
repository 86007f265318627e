package pth_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
)

func benchmark(b *testing.B, r io.ReaderAt, size int64, f func(*limits.Budget) error) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		account := limits.Policy{}.Budget(b.Context())
		if err := f(account); err != nil {
			b.Fatal(err)
		}
		account.Close()
	}
}

// A small checkpoint, one of the size of ResNet-50 (267 tensors), a legacy one.
func BenchmarkDecode(b *testing.B) {
	whole := archive(resnet(64))
	data := make([]byte, whole.size)
	if _, err := whole.ReadAt(data, 0); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"small", checkpoint(b, "state-dict.pt")},
		{"small-legacy", checkpoint(b, "checkpoint-legacy.pt")},
		{"optimizer", checkpoint(b, "checkpoint.pt")},
		{"267-tensors", data},
	} {
		b.Run(c.name, func(b *testing.B) {
			r, size := bytes.NewReader(c.data), int64(len(c.data))
			benchmark(b, r, size, func(account *limits.Budget) error {
				_, err := pth.Decode(account, r, size)
				return err
			})
		})
		b.Run(c.name+"-scan", func(b *testing.B) {
			r, size := bytes.NewReader(c.data), int64(len(c.data))
			benchmark(b, r, size, func(account *limits.Budget) error { return pth.Scan(account, r, size).Err })
		})
	}
}
