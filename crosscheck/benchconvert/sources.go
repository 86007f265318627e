package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// A source writes a file that is converted.
type source struct {
	name string
	make func(dir string) (string, error)
}

var sources = []source{
	{"BF16 safetensors", plain}, {"BF16 npz", npz}, {"BF16 pth", pth},
	{"Q8_0 GGUF", blocks("q8_0", tensor.Q8_0)}, {"Q4_K GGUF", blocks("q4_k", tensor.Q4_K)},
	{"FP8, blocks of 128", fp8}, {"NF4", nf4},
}

const rows, cols = 4096, 11008

// layers is how many matrices a source has: as many make 1 GB of BF16.
var layers = number("LAYERS", 11)

// name is that of a layer's weight.
func name(i int) string { return fmt.Sprintf("model.layers.%d.mlp.down_proj.weight", i) }

// plain is BF16 as it is.
func plain(dir string) (string, error) {
	var infos []tensor.Info
	for i := range layers {
		infos = append(infos, tensor.Info{Name: name(i), DType: tensor.BF16, Shape: []int64{rows, cols}})
	}
	return filepath.Join(dir, "bf16.safetensors"), inSafetensors(filepath.Join(dir, "bf16.safetensors"), infos, nil)
}

// npz is the same in an archive.
func npz(dir string) (string, error) {
	from, err := plain(dir)
	if err != nil {
		return "", err
	}
	defer os.Remove(from)
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, from)
	if err != nil {
		return "", err
	}
	defer m.Close()
	p, err := convert.NewPlan(b, m, convert.Options{Sink: convert.NPZ{}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "bf16.npz")
	_, err = p.Write(path, true)
	return path, err
}

func blocks(file string, d tensor.DType) func(dir string) (string, error) {
	return func(dir string) (string, error) {
		var infos []tensor.Info
		for i := range layers {
			infos = append(infos, tensor.Info{Name: fmt.Sprintf("blk.%d.ffn_down.weight", i), DType: d, Shape: []int64{rows, cols}})
		}
		b := limits.Policy{}.Budget(context.Background())
		defer b.Close()
		p, err := gguf.Layout(b, infos, []gguf.Entry{{Key: "general.architecture", Value: "llama"}}, gguf.Options{})
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, file+".gguf")
		return path, random(path, p.Header, p.Size, map[int64][]byte{})
	}
}

// fp8 has blocks of 128 under scales of F32.
func fp8(dir string) (string, error) {
	var infos []tensor.Info
	given := map[string][]byte{}
	for i := range layers {
		n := name(i) + "_scale_inv"
		infos = append(infos, tensor.Info{Name: name(i), DType: tensor.F8E4M3, Shape: []int64{rows, cols}},
			tensor.Info{Name: n, DType: tensor.F32, Shape: []int64{rows / 128, cols / 128}})
		given[n] = scales(rows / 128 * (cols / 128))
	}
	return filepath.Join(dir, "fp8.safetensors"), inSafetensors(filepath.Join(dir, "fp8.safetensors"), infos, given)
}

// nf4 is what bitsandbytes writes: codes, a scale for 64 of them, a table.
func nf4(dir string) (string, error) {
	state := fmt.Sprintf(`{"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [%d, %d]}`, rows, cols)
	var infos []tensor.Info
	given, codebook := map[string][]byte{}, bnb.Quantizer{}.Codebook()
	for i := range layers {
		n := name(i)
		infos = append(infos, tensor.Info{Name: n, DType: tensor.U8, Shape: []int64{rows * cols / 2, 1}},
			tensor.Info{Name: n + ".absmax", DType: tensor.F32, Shape: []int64{rows * cols / 64}},
			tensor.Info{Name: n + ".quant_map", DType: tensor.F32, Shape: []int64{16}},
			tensor.Info{Name: n + ".quant_state.bitsandbytes__nf4", DType: tensor.U8, Shape: []int64{int64(len(state))}})
		given[n+".absmax"] = scales(rows * cols / 64)
		given[n+".quant_map"] = floats(codebook[:])
		given[n+".quant_state.bitsandbytes__nf4"] = []byte(state)
	}
	return filepath.Join(dir, "nf4.safetensors"), inSafetensors(filepath.Join(dir, "nf4.safetensors"), infos, given)
}

// scales are scales of a model: random ones would be far below its least numbers.
func scales(n int) []byte {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(i%97+3) / 4096
	}
	return floats(out)
}

func floats(list []float32) (out []byte) {
	for _, f := range list {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	return out
}

func inSafetensors(path string, infos []tensor.Info, given map[string][]byte) error {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	p, err := safetensors.Layout(b, infos, nil)
	if err != nil {
		return err
	}
	at := map[int64][]byte{}
	for i := range infos {
		if f, ok := given[infos[i].Name]; ok {
			at[p.Offsets[i]] = f
		}
	}
	return random(path, p.Header, p.Size, at)
}

// random writes a file of random bytes, a header before them and given bytes
// among them.
func random(path string, header []byte, size int64, at map[int64][]byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	piece := make([]byte, 1<<20)
	for n := int64(len(header)); n < size; n += int64(len(piece)) {
		fill(piece, uint64(n))
		if _, err := f.WriteAt(piece[:min(int64(len(piece)), size-n)], n); err != nil {
			return err
		}
	}
	at[0] = header
	for off, p := range at {
		if _, err := f.WriteAt(p, off); err != nil {
			return err
		}
	}
	return nil
}

// fill makes random bytes of which no number of 8, 16 or 32 bits is infinite.
func fill(p []byte, seed uint64) {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	rand.NewChaCha8(key).Read(p)
	for ; len(p) >= 8; p = p[8:] {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)&0xBFBF_BFBF_BFBF_BFBF)
	}
}
