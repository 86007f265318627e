package convert_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// The environment of the process that converts: what, to where, with how many
// workers.
const (
	memorySource  = "CONVERT_TEST_SOURCE"
	memoryTarget  = "CONVERT_TEST_TARGET" // "" counts and forgets
	memoryThreads = "CONVERT_TEST_THREADS"
	memoryFull    = "CONVERT_TEST_FULL" // all layers, and a real file
)

func TestMain(m *testing.M) {
	if os.Getenv(memorySource) != "" {
		if err := convertAndMeasure(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A measure is what a conversion took.
type measure struct {
	Peak    int64 // resident bytes, VmHWM
	Bytes   int64 // written
	Tensors int
	Workers int
	Seconds float64
}

// convertAndMeasure is the process that converts. It may map no more data than
// half a gigabyte.
func convertAndMeasure() error {
	most := syscall.Rlimit{Cur: 512 << 20, Max: 512 << 20}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &most); err != nil {
		return err
	}
	threads, err := strconv.Atoi(os.Getenv(memoryThreads))
	if err != nil {
		return err
	}
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, os.Getenv(memorySource))
	if err != nil {
		return err
	}
	defer m.Close()
	start := time.Now()
	p, err := convert.NewPlan(b, m, convert.Options{Threads: threads, Quant: quant.Options{Target: quant.BF16}})
	if err != nil {
		return err
	}
	out := measure{Tensors: m.Len()}
	var count counting
	var r *convert.Result
	if target := os.Getenv(memoryTarget); target != "" {
		r, err = p.Write(target, true)
	} else {
		r, err = p.Stream(&count)
	}
	if err != nil {
		return err
	}
	if n := count.n.Load(); n > 0 && n != p.Size {
		return fmt.Errorf("%d bytes of %d were written", n, p.Size)
	}
	out.Bytes, out.Workers, out.Seconds = r.Bytes, r.Workers, time.Since(start).Seconds()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscanf(peak, "%d kB", &out.Peak); err != nil {
		return err
	}
	out.Peak <<= 10
	return json.NewEncoder(os.Stdout).Encode(out)
}

// measured converts in a process of its own.
func measured(t *testing.T, source, target string, threads int) measure {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), memorySource+"="+source, memoryTarget+"="+target, memoryThreads+"="+strconv.Itoa(threads))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.Bytes())
	}
	var m measure
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return m
}

// full asks for whole models; the shapes of one layer are what memory could
// depend on.
func full() bool { return os.Getenv(memoryFull) != "" }

func layers() int {
	if full() {
		return 80
	}
	return 1
}

func words() int64 {
	if full() {
		return vocabulary
	}
	return vocabulary / 16
}

// The shapes of Llama 3 70B.
const (
	hidden, inner, vocabulary, heads = 8192, 28672, 128256, 1024
)

// A matrix is one weight of a layer.
var matrices = []struct {
	gguf, hf string
	shape    []int64
}{
	{"attn_q", "self_attn.q_proj", []int64{hidden, hidden}},
	{"attn_k", "self_attn.k_proj", []int64{heads, hidden}},
	{"attn_v", "self_attn.v_proj", []int64{heads, hidden}},
	{"attn_output", "self_attn.o_proj", []int64{hidden, hidden}},
	{"ffn_gate", "mlp.gate_proj", []int64{inner, hidden}},
	{"ffn_up", "mlp.up_proj", []int64{inner, hidden}},
	{"ffn_down", "mlp.down_proj", []int64{hidden, inner}},
}

// largeGGUF is a model of 70 thousand million weights in Q4_K, all of it holes.
func largeGGUF(t *testing.T) string {
	infos := []tensor.Info{
		{Name: "token_embd.weight", DType: tensor.Q4_K, Shape: []int64{words(), hidden}},
		{Name: "output.weight", DType: tensor.Q6_K, Shape: []int64{words(), hidden}},
		{Name: "output_norm.weight", DType: tensor.F32, Shape: []int64{hidden}},
	}
	for l := range layers() {
		for _, m := range matrices {
			infos = append(infos, tensor.Info{Name: fmt.Sprintf("blk.%d.%s.weight", l, m.gguf), DType: tensor.Q4_K, Shape: m.shape})
		}
		for _, norm := range []string{"attn_norm", "ffn_norm"} {
			infos = append(infos, tensor.Info{Name: fmt.Sprintf("blk.%d.%s.weight", l, norm), DType: tensor.F32, Shape: []int64{hidden}})
		}
	}
	path := filepath.Join(t.TempDir(), "large.gguf")
	sparse(t, path, infos, []gguf.Entry{{Key: "general.architecture", Value: "llama"}, {Key: "llama.block_count", Value: uint32(layers())}})
	return path
}

// largeFP8 is a folder of the same shapes in FP8 with blocks of 128, a file for
// each layer.
func largeFP8(t *testing.T) string {
	dir := t.TempDir()
	index := map[string]string{}
	for l := range layers() {
		var infos []tensor.Info
		for _, m := range matrices {
			name := fmt.Sprintf("model.layers.%d.%s.weight", l, m.hf)
			infos = append(infos, tensor.Info{Name: name, DType: tensor.F8E4M3, Shape: m.shape},
				tensor.Info{Name: name + "_scale_inv", DType: tensor.F32, Shape: []int64{m.shape[0] / 128, m.shape[1] / 128}})
		}
		infos = append(infos, tensor.Info{Name: fmt.Sprintf("model.layers.%d.input_layernorm.weight", l), DType: tensor.BF16, Shape: []int64{hidden}})
		file := fmt.Sprintf("model-%05d-of-%05d.safetensors", l+1, layers())
		b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
		p, err := safetensors.Layout(b, infos, nil)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, p.Header, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, p.Size); err != nil {
			t.Fatal(err)
		}
		b.Close()
		for _, i := range infos {
			index[i.Name] = file
		}
	}
	text, err := json.Marshal(map[string]any{"weight_map": index})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// largeGPTQ is a weight whose rows are columns of what is stored.
func largeGPTQ(t *testing.T, in, out int64) string {
	infos := []tensor.Info{
		{Name: "l.qweight", DType: tensor.I32, Shape: []int64{in / 8, out}},
		{Name: "l.scales", DType: tensor.F16, Shape: []int64{in / 128, out}},
		{Name: "l.qzeros", DType: tensor.I32, Shape: []int64{in / 128, out / 8}},
	}
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	p, err := safetensors.Layout(b, infos, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "gptq.safetensors")
	if err := os.WriteFile(path, p.Header, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, p.Size); err != nil {
		t.Fatal(err)
	}
	return path
}

// Memory does not grow with the model: resident bytes stay under 40 MiB, 3 MiB
// for each worker, 1 KiB for each tensor, and one strip of the columns of a
// transposed layout, however wide or tall it is.
func TestMemoryDoesNotGrowWithTheModel(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector has memory of its own")
	}
	const strip = 16 << 20
	longer := int64(1)
	if full() {
		longer = 10
	}
	for _, c := range []struct {
		name, source string
		group        int64
	}{
		{"Q4_K in GGUF", largeGGUF(t), 0},
		{"a folder of FP8", largeFP8(t), 0},
		{"GPTQ, which is transposed", largeGPTQ(t, hidden, inner), strip},
		{"a wide one", largeGPTQ(t, hidden/8, longer*inner*4), strip},
		{"a tall one", largeGPTQ(t, longer*inner*4, hidden/8), strip},
	} {
		for _, threads := range []int{1, 4} {
			if threads == 1 && !full() {
				continue
			}
			m := measured(t, c.source, "", threads)
			bound := int64(40<<20+3<<20*m.Workers+1<<10*m.Tensors) + c.group
			t.Logf("%s: %.1f GB written by %d workers in %.1f s: %.1f MiB resident at most, %.1f allowed",
				c.name, float64(m.Bytes)/1e9, m.Workers, m.Seconds, mib(m.Peak), mib(bound))
			if m.Peak > bound {
				t.Errorf("%s, %d workers: %.1f MiB resident, %.1f allowed", c.name, m.Workers, mib(m.Peak), mib(bound))
			}
		}
	}
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// A real file of 4 GiB.
func TestMemoryOfARealFile(t *testing.T) {
	if !full() {
		t.Skip(memoryFull + " is not set: make memory")
	}
	m := measured(t, bigGGUF(t, 2<<30/32*34), filepath.Join(t.TempDir(), "out"), 2)
	bound := int64(40<<20 + 3<<20*m.Workers + 1<<10*m.Tensors)
	t.Logf("%.1f GB in %.1f s: %.1f MiB resident, %.1f allowed", float64(m.Bytes)/1e9, m.Seconds, mib(m.Peak), mib(bound))
	if m.Bytes < 4<<30 || m.Peak > bound {
		t.Errorf("%d bytes written, %.1f MiB resident, %.1f allowed", m.Bytes, mib(m.Peak), mib(bound))
	}
}
