package wire_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A vocabulary of a GGUF file: a length and a text, 150,000 times. One
// operation is one token.
func BenchmarkTokens(b *testing.B) {
	var file []byte
	const tokens = 150_000
	for i := range tokens {
		text := "tokens-of-some-length"[:3+i%9]
		file = binary.LittleEndian.AppendUint64(file, uint64(len(text)))
		file = append(file, text...)
	}
	r := bytes.NewReader(file)
	account := limits.Policy{Timeout: limits.NoTimeout, MaxTotalBytes: 1 << 62}.Budget(b.Context())
	defer account.Close()
	c := wire.NewCursor(account, "bench", r, int64(len(file)))
	b.SetBytes(int64(len(file) / tokens))
	for b.Loop() {
		if c.Left() == 0 {
			c = wire.NewCursor(account, "bench", r, int64(len(file)))
		}
		n, err := c.U64()
		if err == nil {
			err = c.Skip(n)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkU8(b *testing.B) {
	file := make([]byte, 1<<20)
	account := limits.Policy{Timeout: limits.NoTimeout, MaxTotalBytes: 1 << 62}.Budget(b.Context())
	defer account.Close()
	c := wire.NewCursor(account, "bench", bytes.NewReader(file), int64(len(file)))
	for b.Loop() {
		if c.Left() == 0 {
			if err := c.MoveTo(0); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := c.U8(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkQuote(b *testing.B) {
	for b.Loop() {
		if wire.Quote("model.layers.17.self_attn.q_proj.weight") == "" {
			b.Fatal("empty")
		}
	}
}
