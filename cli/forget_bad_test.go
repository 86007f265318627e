package cli_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// ggufOf is a GGUF model of F32 weights of 16 rows, with an architecture.
func ggufOf(t *testing.T, arch string, cols int64, names ...string) string {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	var infos []tensor.Info
	for _, name := range names {
		infos = append(infos, tensor.Info{Name: name, DType: tensor.F32, Shape: []int64{16, cols}})
	}
	meta := []gguf.Entry{{Key: "general.architecture", Value: arch}, {Key: arch + ".block_count", Value: uint32(1)},
		{Key: arch + ".attention.head_count", Value: uint32(4)}, {Key: arch + ".attention.head_count_kv", Value: uint32(4)}}
	p, err := gguf.Layout(b, infos, meta, gguf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, p.Size)
	copy(data, p.Header)
	for _, at := range p.Offsets {
		for i := range 16 * cols {
			binary.LittleEndian.PutUint32(data[at+4*i:], math.Float32bits(float32(math.Sin(float64(i)*0.37))/8))
		}
	}
	return string(data)
}

// A model that cannot be quantized as requested ends with a class and a message that says why.
// Nothing is written, neither the target nor a temporary file.
func TestNothingIsWrittenOfBadInput(t *testing.T) {
	dir := t.TempDir()
	file := func(name, data string) string {
		path := filepath.Join(dir, "in", name)
		write(t, path, data)
		return path
	}
	names := []string{"token_embd.weight", "output.weight", "blk.0.attn_v.weight", "blk.0.ffn_down.weight"}
	model := file("model.gguf", ggufOf(t, "llama", 256, names...))
	matrix := func(cols int, square float32, names ...string) string {
		return string(fixtures.LegacyMatrix(cols, square, names...))
	}
	whole := matrix(256, 2, names...)
	many := make([]string, effort.Of(10_000, 1_000_000))
	for i := range many {
		many[i] = fmt.Sprintf("blk.%d.ffn_up.weight", i)
	}
	million := file("million", matrix(1, 1, many...))
	wild := ggufOf(t, "llama", 256, names...)
	wild = wild[:len(wild)-40] + "\x00\x00\xc0\x7f" + wild[len(wild)-36:]
	folder := tinyModel(t)
	quantized := filepath.Join(dir, "in", "quantized.gguf")
	if r := amn(t, nil, "forget", "-q", "--to", "q4_0", "-o", quantized, model); r.code != 0 {
		t.Fatal(r)
	}
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, args, model string
		code              int
		texts             []string
	}{
		{"a matrix of another model", "--to q4_k_m --imatrix " + file("other", matrix(256, 2, "blk.9.attn_v.weight")), model, 3, []string{"importance", "none of the 1 weight"}},
		{"a matrix of other columns", "--to q4_k_m --imatrix " + file("columns", matrix(512, 2, names...)), model, 3, []string{"another model", "output.weight"}},
		{"a matrix with NaN", "--to q4_k_m --imatrix " + file("nan", matrix(256, float32(math.NaN()), names...)), model, 3, []string{"importance", "element 0 is NaN"}},
		{"a matrix with an infinite square", "--to q4_k_m --imatrix " + file("inf", matrix(256, float32(math.Inf(1)), names...)), model, 3, []string{"element 0 is +Inf"}},
		{"a matrix with a negative square", "--to q4_k_m --imatrix " + file("negative", matrix(256, -1, names...)), model, 3, []string{"element 0 is -0.333"}},
		{"a matrix with too few weights", "--to iq2_xs --imatrix " + file("few", matrix(256, 2, names[0])), model, 5, []string{"needs an importance matrix"}},
		{"no matrix, where the type needs one", "--to iq2_xs", model, 5, []string{"needs an importance matrix"}},
		{"a matrix that is cut off", "--to q4_k_m --imatrix " + file("cut", whole[:len(whole)-9]), model, 4, []string{"--imatrix"}},
		{"a matrix of no bytes", "--to q4_k_m --imatrix " + file("empty", ""), model, 4, []string{"--imatrix"}},
		{"a matrix that is a model", "--to q4_k_m --imatrix " + model, model, 3, []string{"not imatrix"}},
		{"a matrix that is not there", "--to q4_k_m --imatrix " + filepath.Join(dir, "none"), model, 2, []string{"does not exist"}},
		{"a matrix of a million weights of another model", "--to q4_k_m --imatrix " + million, model, 3, []string{"none of the"}},
		{"a matrix of a million weights, and a small account", "--max-items 1000 --to q4_k_m --imatrix " + million, model, 6, []string{"items"}},
		{"columns that no block divides", "--to q1_0", file("odd.gguf", ggufOf(t, "llama", 33, names...)), 5, []string{"rows of 33"}},
		{"a model that names no architecture", "--to q4_k_m", file("nameless.gguf", ggufOf(t, "", 256, names...)), 5, []string{"general.architecture"}},
		{"quantized again without the flag", "--to q8_0", quantized, 5, []string{"and quantizing it again as", "--allow-requantize"}},
		{"a type that the file cannot hold", "--to q8_0 --tensor-type *=f8_e4m3", model, 5, []string{"F8_E4M3"}},
		{"a type that no tensor has", "--to q8_0 --tensor-type *=q77", model, 2, []string{"q77"}},
		{"a mix of a folder's library", "--to fp8 --pure", folder, 2, []string{"--pure"}},
		{"blocks of ggml for a file that is not a GGUF", "--to q4_k_m", file("alone.safetensors", build(`"a.weight":{"dtype":"F32","shape":[1,32],"data_offsets":[0,128]}`)+strings.Repeat("\x00", 128)), 5, []string{"give a GGUF file"}},
		{"NaN among the weights", "--to q8_0", file("wild.gguf", wild), 5, []string{"blk.0.ffn_down.weight", "NaN", "--nan"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, command := range []string{"forget", "convert"} {
				args := strings.Fields(c.args)
				if command == "convert" {
					if strings.Contains(c.args, "--to fp8") {
						continue
					}
					for i, a := range args {
						if a == "--to" {
							args[i] = "--quant"
						}
					}
					args = append(args, "--to", "gguf")
				}
				r := amn(t, nil, append(append([]string{command, "-o", filepath.Join(out, "new.gguf")}, args...), c.model)...)
				if r.code != c.code {
					t.Errorf("%s: exit %d, want %d: %s", command, r.code, c.code, r.err)
				}
				for _, text := range c.texts {
					if !strings.Contains(r.err, text) {
						t.Errorf("%s: no %q in %s", command, text, r.err)
					}
				}
				if list, err := os.ReadDir(out); err != nil || len(list) > 0 {
					t.Errorf("%s: %v are left, %v", command, list, err)
				}
			}
		})
	}
}

// A mix for an architecture that llama.cpp does not have is chosen by the rules of all
// others, and the summary says so.
func TestAMixForAnUnknownArchitectureNamesTheGeneralRule(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gguf")
	write(t, model, ggufOf(t, "unheard-of", 256, "token_embd.weight", "output.weight", "blk.0.attn_v.weight"))
	for _, args := range []string{"", "--dry-run "} {
		r := amn(t, nil, append(strings.Fields("forget "+args+"--to q4_k_m -o"), filepath.Join(dir, "out.gguf"), model)...)
		if r.code != 0 || !strings.Contains(r.out, "unheard-of") {
			t.Errorf("%s: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
		if err := os.Remove(filepath.Join(dir, "out.gguf")); (err != nil) != (args != "") {
			t.Error(args, err)
		}
	}
}

// A pattern that fits no tensor is misspelt: it is refused whatever the target is, and what fits
// one that would not be quantized anyway is not.
func TestPatternsThatMatchNoTensorAreRefused(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gguf")
	write(t, model, ggufOf(t, "llama", 256, "token_embd.weight", "output.weight", "blk.0.attn_v.weight", "blk.0.attn_v.bias", "blk.0.ffn_gate_inp.weight"))
	for _, c := range []struct {
		args string
		code int
		text string
	}{
		{"--to q4_k_m --tensor-type *=q4k", 2, `--tensor-type: "q4k" is not one of bf16, f16, f32, iq1_m`},
		{"--to q4_k_m --tensor-type blk.0.ffn_gate_inp*=q8_0", 2, `"blk.0.ffn_gate_inp*" matches only tensors that are not quantized, such as blk.0.ffn_gate_inp.weight`},
		{"--to q4_k_m --tensor-type blk.0.ffn_gate_inp*=f32", 0, ""},
		{"--to q4_k_m --max-shard-size 1MB", 2, "--max-shard-size goes with safetensors"},
		{"--to f16", 2, "amn convert --to gguf --cast f16"},
		{"--to q4_k_m --tensor-type blk.1.*=q8_0", 2, `--tensor-type: no tensor name matches "blk.1.*"`},
		{"--to q4_k_m --exclude attn_v", 2, `--exclude: no tensor name matches "attn_v"`},
		{"--to nf4 --exclude attn_v", 2, `--exclude: no tensor name matches "attn_v"`},
		{"--to nf4 --include *ffn_up*", 2, `--include: no tensor name matches "*ffn_up*"`},
		{"--to nf4 --include blk.0.attn_v.bias", 2, `--include: nothing that matches "blk.0.attn_v.bias" can be quantized: blk.0.attn_v.bias (not a matrix of a linear module)`},
		{"--to nf4 --include *attn_v* --exclude blk.*", 2, `--include: nothing that matches "*attn_v*" can be quantized: blk.0.attn_v.weight (excluded)`},
		{"--to q4_k_m --tensor-type *attn_v*=q8_0 --exclude output*", 0, ""},
	} {
		r := amn(t, nil, append(strings.Fields("forget --dry-run "+c.args), model)...)
		if r.code != c.code || !strings.Contains(r.err, c.text) {
			t.Errorf("%s: exit %d\n%s%s", c.args, r.code, r.out, r.err)
		}
		if c.code == 0 && (!strings.Contains(r.out, "blk.0.attn_v.weight  [") || strings.Contains(c.args, "q8_0") && !strings.Contains(r.out, " Q8_0 ")) {
			t.Errorf("%s: the plan is not listed\n%s", c.args, r.out)
		}
	}
}

// A budget that cannot fit is refused before anything is measured.
func TestABudgetBelowTheSmallestTypesIsRefusedBeforeMeasuring(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gguf")
	write(t, model, ggufOf(t, "llama", 256, "token_embd.weight", "output.weight", "blk.0.attn_v.weight"))
	r := amn(t, nil, "forget", "--budget", "1bpw", "-o", filepath.Join(dir, "out.gguf"), model)
	if r.code != 2 || !strings.Contains(r.err, "even the smallest of --types need") || strings.Contains(r.err, "measuring") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// The size that --budget bounds includes tensors with a --tensor-type.
func TestABudgetIncludesTheTypesOfTensorTypeFlags(t *testing.T) {
	dir := t.TempDir()
	model, out := filepath.Join(dir, "m.gguf"), filepath.Join(dir, "out.gguf")
	write(t, model, ggufOf(t, "llama", 256, "token_embd.weight", "output.weight", "blk.0.attn_v.weight", "blk.0.ffn_up.weight"))
	r := amn(t, nil, "forget", "--json", "--budget", "5bpw", "--tensor-type", "*ffn*=q8_0", "-o", out, model)
	var said struct {
		Forgotten struct {
			Weights []struct {
				Name, Type string
				After      int64
				Shape      []int64
			}
		}
	}
	if err := json.Unmarshal([]byte(r.out), &said); err != nil || r.code != 0 {
		t.Fatal(err, r)
	}
	bytes, numbers := int64(0), int64(0)
	for _, w := range said.Forgotten.Weights {
		bytes, numbers = bytes+w.After, numbers+w.Shape[0]*w.Shape[1]
		if strings.Contains(w.Name, "ffn") != (w.Type == "Q8_0") {
			t.Errorf("%s is %s", w.Name, w.Type)
		}
	}
	if len(said.Forgotten.Weights) != 4 || 8*bytes > 5*numbers {
		t.Errorf("%d bytes for %d numbers: %s", bytes, numbers, r.out)
	}
	if r := amn(t, nil, "forget", "--budget", "3bpw", "--tensor-type", "*=q8_0", "-o", out, model); r.code != 2 || !strings.Contains(r.err, "8.500 bits") {
		t.Errorf("all is given, and does not fit: %+v", r)
	}
}

// A matrix of a type that is not decoded is reported, and listed in the configuration for loaders.
func TestMatricesOfTypesThatAreNotDecodedAreReported(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.safetensors")
	write(t, model, build(`"a.weight":{"dtype":"F32","shape":[32,32],"data_offsets":[0,4096]},"b.weight":{"dtype":"F64","shape":[16,32],"data_offsets":[4096,8192]}`)+strings.Repeat("\x00", 8192))
	for _, to := range []string{"nf4", "mxfp8", "w8a8"} {
		r := amn(t, nil, "forget", "--json", "--to", to, "-o", filepath.Join(dir, to+".safetensors"), model)
		if r.code != 0 || !strings.Contains(r.out, `"kept":[{"name":"b.weight","why":"numbers of F64"}]`) {
			t.Errorf("%s: %+v", to, r)
		}
	}
}
