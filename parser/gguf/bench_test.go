package gguf_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

// A builder writes a little-endian file of version 3, apart from this package's
// own writer.
type builder []byte

func (w *builder) u32(n ...uint32) {
	for _, n := range n {
		*w = binary.LittleEndian.AppendUint32(*w, n)
	}
}

func (w *builder) u64(n ...uint64) {
	for _, n := range n {
		*w = binary.LittleEndian.AppendUint64(*w, n)
	}
}

func (w *builder) text(s string) {
	w.u64(uint64(len(s)))
	*w = append(*w, s...)
}

func (w *builder) head(tensors, keys int) {
	*w = append(*w, gguf.Magic...)
	w.u32(3)
	w.u64(uint64(tensors), uint64(keys))
}

func (w *builder) array(key string, elem gguf.Kind, n int) {
	w.text(key)
	w.u32(uint32(gguf.KindArray), uint32(elem))
	w.u64(uint64(n))
}

// vocabulary returns a file with n tokens, n merges, scores and types, as converters of BPE write
// it: 5 to 9 bytes per token, most beginning with a letter of two bytes.
func vocabulary(n int) []byte {
	var w builder
	w.head(0, 4)
	rng := rand.New(rand.NewPCG(1, 2))
	w.array("tokenizer.ggml.tokens", gguf.KindString, n)
	for i := range n {
		w.text(fmt.Sprintf("Ġ%x%c", i, 'a'+rng.IntN(26)))
	}
	w.array("tokenizer.ggml.token_type", gguf.KindI32, n)
	for range n {
		w.u32(1)
	}
	w.array("tokenizer.ggml.scores", gguf.KindF32, n)
	for range n {
		w.u32(0)
	}
	w.array("tokenizer.ggml.merges", gguf.KindString, n)
	for i := range n {
		w.text(fmt.Sprintf("Ġ%x %x", i/2, i))
	}
	return w
}

// header is a llama with that many tensors and keys.
func header(tensors, keys int) []byte {
	var w builder
	w.head(tensors, keys)
	w.text("general.architecture")
	w.u32(uint32(gguf.KindString))
	w.text("llama")
	for i := 1; i < keys; i++ {
		w.text(fmt.Sprintf("llama.attention.some_key_%d", i))
		w.u32(uint32(gguf.KindU32), uint32(i))
	}
	kinds := []string{"attn_q", "attn_k", "attn_v", "attn_output", "attn_norm", "ffn_gate", "ffn_up", "ffn_down", "ffn_norm"}
	for i := range tensors {
		w.text(fmt.Sprintf("blk.%d.%s.weight", i/len(kinds), kinds[i%len(kinds)]))
		w.u32(2)
		w.u64(32, 1)
		w.u32(2)
		w.u64(uint64(i) * 32)
	}
	for len(w)%32 != 0 {
		w = append(w, 0)
	}
	return append(w, make([]byte, 32*tensors)...)
}

// onDisk puts data into a file, so that reading costs what it costs.
func onDisk(b *testing.B, data []byte) *os.File {
	b.Helper()
	path := filepath.Join(b.TempDir(), "model.gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f
}

func benchmarkDecode(b *testing.B, data []byte) {
	r := onDisk(b, data)
	b.ReportAllocs()
	for b.Loop() {
		account := limits.Policy{}.Budget(b.Context())
		if _, err := gguf.Decode(account, r, int64(len(data))); err != nil {
			b.Fatal(err)
		}
		account.Close()
	}
}

func BenchmarkDecode(b *testing.B) {
	b.Run("150k-tokens", func(b *testing.B) { benchmarkDecode(b, vocabulary(150_000)) })
	b.Run("1000-tensors-30-keys", func(b *testing.B) { benchmarkDecode(b, header(1000, 30)) })
	b.Run("10000-tensors-30-keys", func(b *testing.B) { benchmarkDecode(b, header(10_000, 30)) })
}

// The cost of Verify after Decode.
func BenchmarkVerify(b *testing.B) {
	data := vocabulary(150_000)
	r := onDisk(b, data)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		account := limits.Policy{}.Budget(b.Context())
		f, err := gguf.Decode(account, r, int64(len(data)))
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := f.Verify(account); err != nil {
			b.Fatal(err)
		}
		account.Close()
	}
}

func BenchmarkStrings(b *testing.B) {
	data := vocabulary(150_000)
	r := onDisk(b, data)
	account := limits.Policy{}.Budget(b.Context())
	defer account.Close()
	f, err := gguf.Decode(account, r, int64(len(data)))
	if err != nil {
		b.Fatal(err)
	}
	v, _ := f.Get("tokenizer.ggml.tokens")
	b.ReportAllocs()
	for b.Loop() {
		account := limits.Policy{}.Budget(b.Context())
		for _, err := range v.(gguf.Array).Strings(account) {
			if err != nil {
				b.Fatal(err)
			}
		}
		account.Close()
	}
}

func BenchmarkLayout(b *testing.B) {
	data := header(1000, 30)
	account := limits.Policy{}.Budget(b.Context())
	defer account.Close()
	f, err := gguf.Decode(account, onDisk(b, data), int64(len(data)))
	if err != nil {
		b.Fatal(err)
	}
	var meta []gguf.Entry
	for k, v := range f.Meta() {
		meta = append(meta, gguf.Entry{Key: k, Value: v})
	}
	b.ReportAllocs()
	for b.Loop() {
		account := limits.Policy{}.Budget(b.Context())
		if _, err := gguf.Layout(account, f.Infos, meta, gguf.Options{}); err != nil {
			b.Fatal(err)
		}
		account.Close()
	}
}

// Every hostile file of the corpus: the cost of a refusal.
func BenchmarkHostile(b *testing.B) {
	var list []sample
	for _, s := range samples(b) {
		if s.recipe != nil && s.recipe.Expect != "ok" && len(s.data) < 4096 {
			list = append(list, s)
		}
	}
	for b.Loop() {
		for _, s := range list {
			account := s.policy.Budget(b.Context())
			_ = used(account, s.data)
			account.Close()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(list)), "µs/file")
}
