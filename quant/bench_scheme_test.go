package quant_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Sizes of the weights that schemes are measured with: 4 Mi elements, so that
// codes and numbers do not stay in the caches.
const benchRows, benchCols = 1024, 4096

// random is a tensor of random codes.
func random(rng *rand.ChaCha8, name string, dtype tensor.DType, shape ...int64) stored {
	s := ints(name, dtype, shape...)
	rng.Read(s.data)
	return s
}

// sane is a tensor of numbers about 1/64, so that nothing overflows.
func sane(rng *rand.ChaCha8, name string, dtype tensor.DType, shape ...int64) stored {
	s := ints(name, dtype, shape...)
	size := map[tensor.DType]int{tensor.F32: 4, tensor.F16: 2, tensor.BF16: 2}[dtype]
	for at := 0; at < len(s.data); at += max(1, size) {
		r := uint32(rng.Uint64())
		switch dtype {
		case tensor.F32:
			binary.LittleEndian.PutUint32(s.data[at:], 0x3C800000|r&0x7FFFFF)
		case tensor.BF16:
			binary.LittleEndian.PutUint16(s.data[at:], uint16(0x3C80|r&0x7F))
		case tensor.F16:
			binary.LittleEndian.PutUint16(s.data[at:], uint16(0x2400|r&0x3FF))
		case tensor.F8E4M3:
			s.data[at] = byte(0x20 | r&0x17)
		default:
			s.data[at] = byte(110 + r&7)
		}
	}
	return s
}

func benchModels() map[string]tensor.Model {
	rng := rand.NewChaCha8([32]byte{2})
	const r, c = int64(benchRows), int64(benchCols)
	state := fmt.Sprintf(`{"quant_type":"nf4","blocksize":64,"shape":[%d,%d],"nested_blocksize":256,"nested_offset":0.1}`, r, c)
	text := func(name, s string) stored { return stored{name, tensor.U8, []int64{int64(len(s))}, []byte(s)} }
	shape := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(r)), uint64(c))
	i32 := func(name string, v byte) stored { return stored{name, tensor.I32, []int64{1}, []byte{v, 0, 0, 0}} }
	gptq := func(bits int64, more ...stored) *tensor.File {
		return model(method("gptq", `,"sym":false`), append([]stored{random(rng, "m.qweight", tensor.I32, c*bits/32, r),
			random(rng, "m.qzeros", tensor.I32, c/128, r*bits/32), sane(rng, "m.scales", tensor.F16, c/128, r)}, more...)...)
	}
	order := ints("m.g_idx", tensor.I32, c)
	for i := range c {
		binary.LittleEndian.PutUint32(order.data[4*i:], uint32(rng.Uint64())%uint32(c/128))
	}
	mlx := func(bits int) *tensor.File {
		return model(fmt.Sprintf(`{"quantization":{"bits":%d,"group_size":64}}`, bits), random(rng, "m.weight", tensor.U32, r, c*int64(bits)/32),
			sane(rng, "m.scales", tensor.BF16, r, c/64), sane(rng, "m.biases", tensor.BF16, r, c/64))
	}
	half := ints("m.bitmask", tensor.U8, r, c/8)
	for i := range half.data {
		half.data[i] = []byte{0x33, 0x55, 0x99, 0xC3, 0x5A, 0xA6}[rng.Uint64()%6]
	}
	hqq := func(bits, axis byte, dtype tensor.DType, rows, cols int64, groups ...int64) *tensor.File {
		return model("", random(rng, "m.W_q", dtype, rows, cols), sane(rng, "m.scale", tensor.F16, groups...), sane(rng, "m.zero", tensor.F16, groups...),
			i32("m.nbits", bits), i32("m.axis", axis), stored{"m.shape", tensor.I64, []int64{2}, shape})
	}
	packedOrder := order
	packedOrder.name = "m.weight_g_idx"
	starts := ints("m.row_offsets", tensor.I64, r)
	for i := range r {
		binary.LittleEndian.PutUint64(starts.data[8*i:], uint64(i*c/2))
	}
	columns := `{"quantization_config":{"weight_block_size":[128,1]}}`
	return map[string]tensor.Model{
		"FP8 columns":  model(method("fbgemm_fp8", ""), random(rng, "e.gate_up_proj", tensor.F8E4M3, 1, r, c), sane(rng, "e.gate_up_proj_scale", tensor.F32, 1, 1, c)),
		"INT8 columns": model(columns, random(rng, "m.weight", tensor.I8, r, c), sane(rng, "m.weight_scale", tensor.F32, r/128, c)),
		"NVFP4 fused":  model("", random(rng, "e.w", tensor.U8, 1, r/2, c), sane(rng, "e.w_weight_scale", tensor.F8E4M3, 1, r/16, c), sane(rng, "e.w_weight_scale_2", tensor.F32)),
		"packed 4 act": model("", random(rng, "m.weight_packed", tensor.I32, r, c/8), sane(rng, "m.weight_scale", tensor.BF16, r, c/128), stored{"m.weight_shape", tensor.I64, []int64{2}, shape}, packedOrder),
		"packed 8 act": model("", random(rng, "m.weight_packed", tensor.I32, r, c/4), sane(rng, "m.weight_scale", tensor.BF16, r, c/128), stored{"m.weight_shape", tensor.I64, []int64{2}, shape}, packedOrder),
		"HQQ 3":        hqq(3, 1, tensor.I32, (r*c/64+9)/10, 64, r*c/64, 1),
		"HQQ 4 axis 0": hqq(4, 0, tensor.U8, 32, r*c/64, 1, r*c/64),
		"sparse mask":  model("", sane(rng, "m.compressed", tensor.BF16, r*c/2), half, starts, stored{"m.shape", tensor.I64, []int64{2}, shape}),
		"sparse FP8":   model("", random(rng, "m.compressed", tensor.F8E4M3, r, c/2), half, stored{"m.shape", tensor.I64, []int64{2}, shape}, sane(rng, "m.weight_scale", tensor.F32, r, 1)),
		"folded":       model("", random(rng, "m.weight", tensor.U8, r/2, c), sane(rng, "m.weight_scale", tensor.F32, r, c/128), sane(rng, "m.pre_quant_scale", tensor.BF16, c)),
		"FP8 tensor":   model("", random(rng, "m.weight", tensor.F8E4M3, r, c), sane(rng, "m.weight_scale", tensor.F32)),
		"FP8 rows":     model("", random(rng, "m.weight", tensor.F8E4M3, r, c), sane(rng, "m.weight_scale", tensor.BF16, r, 1)),
		"FP8 blocks":   model("", random(rng, "m.weight", tensor.F8E4M3, r, c), sane(rng, "m.weight_scale_inv", tensor.F32, r/128, c/128)),
		"FP8 E5M2":     model("", random(rng, "m.weight", tensor.F8E5M2, r, c), sane(rng, "m.weight_scale", tensor.F32)),
		"MXFP8":        model("", random(rng, "m.weight", tensor.F8E4M3, r, c), sane(rng, "m.weight_scale", tensor.U8, r, c/32)),
		"INT8 rows":    model("", random(rng, "m.weight", tensor.I8, r, c), sane(rng, "m.weight_scale", tensor.BF16, r, 1)),
		"NVFP4":        model("", random(rng, "m.weight_packed", tensor.U8, r, c/2), sane(rng, "m.weight_scale", tensor.F8E4M3, r, c/16), sane(rng, "m.weight_global_scale", tensor.F32, 1)),
		"MXFP4":        model("", random(rng, "m.weight_packed", tensor.U8, r, c/2), sane(rng, "m.weight_scale", tensor.U8, r, c/32)),
		"packed 4":     model("", random(rng, "m.weight_packed", tensor.I32, r, c/8), sane(rng, "m.weight_scale", tensor.BF16, r, c/128), stored{"m.weight_shape", tensor.I64, []int64{2}, shape}),
		"GPTQ 4":       gptq(4),
		"GPTQ 3":       gptq(3),
		"GPTQ 8":       gptq(8),
		"GPTQ 8 act":   gptq(8, order),
		"GPTQ 4 act":   gptq(4, order),
		"AWQ":          model(method("awq", ""), random(rng, "m.qweight", tensor.I32, c, r/8), random(rng, "m.qzeros", tensor.I32, c/128, r/8), sane(rng, "m.scales", tensor.F16, c/128, r)),
		"MLX 4":        mlx(4),
		"MLX 3":        mlx(3),
		"bnb INT8":     model("", random(rng, "m.weight", tensor.I8, r, c), sane(rng, "m.SCB", tensor.F32, r)),
		"bnb NF4":      model("", random(rng, "m", tensor.U8, r*c/2, 1), sane(rng, "m.absmax", tensor.F32, r*c/64), sane(rng, "m.quant_map", tensor.F32, 16), text("m.quant_state.bitsandbytes__nf4", state)),
		"bnb nested":   model("", random(rng, "m", tensor.U8, r*c/2, 1), random(rng, "m.absmax", tensor.U8, r*c/64), sane(rng, "m.quant_map", tensor.F32, 16), sane(rng, "m.nested_absmax", tensor.F32, r*c/64/256), sane(rng, "m.nested_quant_map", tensor.F32, 256), text("m.quant_state.bitsandbytes__nf4", state)),
		"BitNet":       model(method("bitnet", ""), random(rng, "m.weight", tensor.U8, r/4, c), sane(rng, "m.weight_scale", tensor.BF16, 1)),
		"ModelOpt 4":   model("", random(rng, "m.weight", tensor.U8, r/2, c), sane(rng, "m.weight_scale", tensor.F32, r, c/128)),
		"HQQ 4":        model("", random(rng, "m.W_q", tensor.U8, r*c/64/2, 64), sane(rng, "m.scale", tensor.F16, r*c/64, 1), sane(rng, "m.zero", tensor.F16, r*c/64, 1), i32("m.nbits", 4), i32("m.axis", 1), stored{"m.shape", tensor.I64, []int64{2}, shape}),
		"Gemma 4":      model(method("gemma", `,"num_bits":4`), random(rng, "m.weight", tensor.U8, r, c/2), sane(rng, "m.weight_scale", tensor.F32, r, 1)),
		"gpt-oss":      model("", random(rng, "e.down_proj_blocks", tensor.U8, 1, r, c/32, 16), sane(rng, "e.down_proj_scales", tensor.U8, 1, r, c/32)),
		"AWQ GEMV":     model(method("awq", `,"group_size":128`), random(rng, "m.qweight", tensor.I32, r, c/8), random(rng, "m.qzeros", tensor.I32, r, c/1024), sane(rng, "m.scales", tensor.F16, r, c/128)),
		"GEMV_FAST":    model(method("awq", `,"group_size":128`), random(rng, "m.qweight", tensor.I16, r/4, c), sane(rng, "m.qzeros", tensor.F16, c/128, r), sane(rng, "m.scales", tensor.F16, c/128, r)),
		"sparse 2:4":   model("", sane(rng, "m.compressed", tensor.BF16, r, c/2), half, stored{"m.shape", tensor.I64, []int64{2}, shape}),
		"TorchAO":      &pickled{model("", random(rng, "m._weight_qdata", tensor.I8, r, c), sane(rng, "m._weight_scale", tensor.F32, r, 1), random(rng, "m._weight_zero_point", tensor.I8, r, 1)), []entry{{"tensor_names", `["m.weight"]`}, {"m.weight", `{"_type":"Int8Tensor"}`}}},
		"ComfyUI fp4":  model("", random(rng, "m.weight", tensor.U8, r, c/2), sane(rng, "m.weight_scale", tensor.F8E4M3, r, c/16), sane(rng, "m.weight_scale_2", tensor.F32), text("m.comfy_quant", `{"format":"nvfp4"}`)),
	}
}

// BenchmarkScheme decodes one weight of each form by ranges of rows, and says
// elements per second and the share of a plain copy of what is written, in the
// same run. "turned" is gpt-oss as a folder has it.
func BenchmarkScheme(b *testing.B) {
	for name, m := range benchModels() {
		b.Run(name, func(b *testing.B) { benchWeight(b, m, quant.Options{FoldPreQuant: true}) })
		if name == "gpt-oss" {
			b.Run(name+" turned", func(b *testing.B) { benchWeight(b, m, quant.Options{Folder: true}) })
		}
	}
}

func benchWeight(b *testing.B, m tensor.Model, o quant.Options) {
	account := limits.Policy{Timeout: limits.NoTimeout}.Budget(b.Context())
	defer account.Close()
	account.Source(1 << 30)
	bound, err := quant.Plan(account, m, o)
	if err != nil || len(bound.Weights) != 1 {
		b.Fatal(bound, err)
	}
	w := bound.Weights[0]
	parts := make([][]byte, len(w.Parts))
	for p, info := range w.Parts {
		parts[p] = make([]byte, info.Span.Len)
		if r, _ := m.At(info); wire.ReadFull(r, parts[p], 0) != nil {
			b.Fatal(err)
		}
	}
	const step = 64
	need, tile := make([][]byte, len(parts)), make([]float32, step*w.Cols())
	dst := make([]byte, w.Size(quant.BF16))
	size := w.Cols() * 2
	b.SetBytes(int64(len(dst)))
	for b.Loop() {
		for lo := int64(0); lo < w.Rows(); lo += step {
			hi := min(lo+step, w.Rows())
			for p := range parts {
				span := w.Need(p, lo, hi)
				need[p] = parts[p][span.Off:span.End()]
			}
			w.Decode(dst[lo*size:hi*size], quant.BF16, need, lo, hi, tile)
		}
	}
	rate := float64(w.Rows()*w.Cols()) * float64(b.N) / b.Elapsed().Seconds()
	src, start, n := make([]byte, len(dst)), time.Now(), 0
	for ; time.Since(start) < 50*time.Millisecond; n++ {
		copy(dst, src)
	}
	copied := float64(w.Rows()*w.Cols()) * float64(n) / time.Since(start).Seconds()
	b.ReportMetric(rate/1e6, "Melem/s")
	b.ReportMetric(100*rate/copied, "%copy")
}
