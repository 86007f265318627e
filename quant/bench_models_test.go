package quant_test

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Sizes of the weights that schemes are measured with: 4 Mi elements, so that
// codes and numbers do not stay in the caches. Sizes that end within a block
// have some columns less.
const benchRows, benchCols = 1024, 4096

// random is a tensor of random codes.
func random(rng *rand.ChaCha8, name string, dtype tensor.DType, shape ...int64) quanttest.Stored {
	s := quanttest.Zeros(name, dtype, shape...)
	rng.Read(s.Data)
	return s
}

// sane is a tensor of numbers about 1/64, so that nothing overflows.
func sane(rng *rand.ChaCha8, name string, dtype tensor.DType, shape ...int64) quanttest.Stored {
	s := quanttest.Zeros(name, dtype, shape...)
	size := map[tensor.DType]int{tensor.F32: 4, tensor.F16: 2, tensor.BF16: 2}[dtype]
	for at := 0; at < len(s.Data); at += max(1, size) {
		r := uint32(rng.Uint64())
		switch dtype {
		case tensor.F32:
			binary.LittleEndian.PutUint32(s.Data[at:], 0x3C800000|r&0x7FFFFF)
		case tensor.BF16:
			binary.LittleEndian.PutUint16(s.Data[at:], uint16(0x3C80|r&0x7F))
		case tensor.F16:
			binary.LittleEndian.PutUint16(s.Data[at:], uint16(0x2400|r&0x3FF))
		case tensor.F8E4M3:
			s.Data[at] = byte(0x20 | r&0x17)
		default:
			s.Data[at] = byte(110 + r&7)
		}
	}
	return s
}

// benchModels is a model of one weight for each layout.
func benchModels() map[string]func() tensor.Model {
	rng := rand.NewChaCha8([32]byte{2})
	const r, c = int64(benchRows), int64(benchCols)
	text := func(name, s string) quanttest.Stored {
		return quanttest.Stored{Name: name, DType: tensor.U8, Shape: []int64{int64(len(s))}, Data: []byte(s)}
	}
	shape := func(name string, rows, cols int64) quanttest.Stored {
		return quanttest.Stored{Name: name, DType: tensor.I64, Shape: []int64{2}, Data: binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(rows)), uint64(cols))}
	}
	order := func(name string, groups int64) quanttest.Stored {
		s := quanttest.Zeros(name, tensor.I32, c)
		for i := range c {
			binary.LittleEndian.PutUint32(s.Data[4*i:], uint32(rng.Uint64()%uint64(groups)))
		}
		return s
	}
	all := map[string]func() tensor.Model{}
	add := func(name, config string, tensors func() []quanttest.Stored) {
		all[name] = func() tensor.Model { return quanttest.Model(config, tensors()...) }
	}
	gptq := func(name string, bits, in, group int64, scale tensor.DType, act bool) {
		add(name, quanttest.Method("auto-round", fmt.Sprintf(`,"packing_format":"auto_round:gptqmodel","sym":false,"group_size":%d`, group)), func() []quanttest.Stored {
			groups := (in + group - 1) / group
			s := []quanttest.Stored{random(rng, "h.c_attn.qweight", tensor.I32, in*bits/32, r),
				random(rng, "h.c_attn.qzeros", tensor.I32, groups, r*bits/32), sane(rng, "h.c_attn.scales", scale, groups, r)}
			if act {
				s = append(s, order("h.c_attn.g_idx", groups))
			}
			return s
		})
	}
	for bits := int64(2); bits <= 8; bits++ {
		gptq(fmt.Sprintf("GPTQ %d", bits), bits, c, 128, tensor.F16, false)
	}
	gptq("GPTQ 4 ragged", 4, c-32, 96, tensor.F16, false)
	gptq("GPTQ 4 odd groups", 4, c-32, 127, tensor.F16, false)
	gptq("GPTQ 4 F32", 4, c, 32, tensor.F32, false)
	gptq("GPTQ 2 act", 2, c, 128, tensor.F16, true)
	gptq("GPTQ 3 act", 3, c, 128, tensor.F16, true)
	gptq("GPTQ 4 act", 4, c, 128, tensor.F16, true)
	gptq("GPTQ 8 act", 8, c, 128, tensor.F16, true)
	gptq("GPTQ 4 act, groups of 8", 4, c, 8, tensor.F16, true)
	awq := func(name string, bits, in, group int64) {
		add(name, quanttest.Method("awq", ""), func() []quanttest.Stored {
			return []quanttest.Stored{random(rng, "h.c_attn.qweight", tensor.I32, in, r*bits/32), random(rng, "h.c_attn.qzeros", tensor.I32, in/group, r*bits/32), sane(rng, "h.c_attn.scales", tensor.F16, in/group, r)}
		})
	}
	for bits := int64(2); bits <= 8; bits++ {
		awq(fmt.Sprintf("AWQ %d", bits), bits, c, 128)
	}
	awq("AWQ 4 odd groups", 4, c-96, 125)
	mlx := func(name, mode string, bits, cols, group int64, more ...quanttest.Stored) {
		add(name, fmt.Sprintf(`{"quantization":{"mode":%q,"bits":%d,"group_size":%d}}`, mode, bits, group), func() []quanttest.Stored {
			s := []quanttest.Stored{random(rng, "m.weight", tensor.U32, r, cols*bits/32)}
			switch mode {
			case "affine":
				s = append(s, sane(rng, "m.scales", tensor.BF16, r, cols/group), sane(rng, "m.biases", tensor.BF16, r, cols/group))
			case "nvfp4":
				e4m3 := sane(rng, "m.scales", tensor.F8E4M3, r, cols/group)
				e4m3.DType = tensor.U8
				s = append(s, e4m3)
			default:
				s = append(s, sane(rng, "m.scales", tensor.U8, r, cols/group))
			}
			return append(s, more...)
		})
	}
	for _, bits := range []int64{1, 2, 3, 4, 5, 6, 8} {
		mlx(fmt.Sprintf("MLX %d", bits), "affine", bits, c, 64)
	}
	mlx("MLX 4, groups of 32", "affine", 4, c, 32)
	mlx("MLX 4, groups of 16", "affine", 4, c, 16)
	mlx("MLX 8, groups of 8", "affine", 8, c, 8)
	mlx("MLX 6, groups of 24", "affine", 6, c-64, 24)
	mlx("MLX 4, groups of 25", "affine", 4, c-96, 25)
	mlx("MLX mxfp4", "mxfp4", 4, c, 32)
	mlx("MLX mxfp8", "mxfp8", 8, c, 32)
	mlx("MLX nvfp4", "nvfp4", 4, c, 16)
	mlx("MLX nvfp4 global", "nvfp4", 4, c, 16, sane(rng, "m.global_scale", tensor.F32, 1))
	packed := func(name, version string, bits, cols, group int64, zeros tensor.DType, act bool) {
		config := fmt.Sprintf(`{"quantization_config":{"quant_method":"compressed-tensors","version":%q,"config_groups":{"a":{"targets":["Linear"],"weights":{"num_bits":%d,"type":"int"}}}}}`, version, bits)
		if act || zeros != 0 {
			config = fmt.Sprintf(`{"quantization_config":{"version":%q,"config_groups":{"a":{"targets":["Linear"],"weights":{"num_bits":%d}}}}}`, version, bits)
		}
		add(name, config, func() []quanttest.Stored {
			loose := version < "0.17.0"
			count := func(n int64) int64 {
				if loose {
					return (n + 32/bits - 1) / (32 / bits)
				}
				return (n*bits + 31) / 32
			}
			s := []quanttest.Stored{random(rng, "m.weight_packed", tensor.I32, r, count(cols)), sane(rng, "m.weight_scale", tensor.BF16, r, cols/group), shape("m.weight_shape", r, cols)}
			switch zeros {
			case tensor.I32:
				s = append(s, random(rng, "m.weight_zero_point", tensor.I32, count(r), cols/group))
			case tensor.I8:
				s = append(s, random(rng, "m.weight_zero_point", tensor.I8, r, cols/group))
			}
			if act {
				s = append(s, order("m.weight_g_idx", cols/group))
			}
			return s
		})
	}
	for bits := int64(1); bits <= 8; bits++ {
		packed(fmt.Sprintf("packed %d", bits), "0.17.0", bits, c, 128, 0, false)
	}
	packed("packed 4, groups of 25", "0.17.0", 4, c-96, 25, 0, false)
	packed("packed 8, groups of 25", "0.17.0", 8, c-96, 25, 0, false)
	packed("packed 3 loose", "0.16.0", 3, c, 128, 0, false)
	packed("packed 5 loose", "0.16.0", 5, c, 128, 0, false)
	packed("packed 4 zeros", "0.17.0", 4, c, 128, tensor.I32, false)
	packed("packed 4 zeros of 32", "0.17.0", 4, c, 32, tensor.I32, false)
	packed("packed 3 zeros", "0.17.0", 3, c, 128, tensor.I32, false)
	packed("packed 4 zeros I8", "0.17.0", 4, c, 32, tensor.I8, false)
	packed("packed 3 act", "0.17.0", 3, c, 128, 0, true)
	packed("packed 4 act", "0.17.0", 4, c, 128, 0, true)
	packed("packed 8 act", "0.17.0", 8, c, 128, 0, true)
	packed("packed 4 act zeros", "0.17.0", 4, c, 128, tensor.I32, true)
	plain := func(name, config string, tensors ...func() quanttest.Stored) {
		add(name, config, func() (s []quanttest.Stored) {
			for _, f := range tensors {
				s = append(s, f())
			}
			return s
		})
	}
	codes := func(name string, d tensor.DType, shape ...int64) func() quanttest.Stored {
		return func() quanttest.Stored { return random(rng, name, d, shape...) }
	}
	scales := func(name string, d tensor.DType, shape ...int64) func() quanttest.Stored {
		return func() quanttest.Stored { return sane(rng, name, d, shape...) }
	}
	given := func(s quanttest.Stored) func() quanttest.Stored { return func() quanttest.Stored { return s } }
	hqq := func(name string, bits, axis byte, group int64) {
		const fields = "\x00\x08\x04\x0A\x02\x00\x00\x00\x01"
		width, height, dtype := group, r*c/group, tensor.U8
		groups := []int64{height, 1}
		if axis == 0 {
			width, height = r*c/group, group
			groups = []int64{1, width}
		}
		if bits == 3 {
			dtype = tensor.I32
		}
		per := int64(fields[bits])
		i32 := func(name string, v byte) quanttest.Stored {
			return quanttest.Stored{Name: name, DType: tensor.I32, Shape: []int64{1}, Data: []byte{v, 0, 0, 0}}
		}
		plain(name, "", codes("m.W_q", dtype, (height+per-1)/per, width), scales("m.scale", tensor.F16, groups...), scales("m.zero", tensor.F16, groups...),
			given(i32("m.nbits", bits)), given(i32("m.axis", axis)), given(shape("m.shape", r, c)))
	}
	for _, bits := range []byte{1, 2, 3, 4, 8} {
		hqq(fmt.Sprintf("HQQ %d", bits), bits, 1, 64)
		hqq(fmt.Sprintf("HQQ %d axis 0", bits), bits, 0, 64)
	}
	half := quanttest.Zeros("m.bitmask", tensor.U8, r, c/8)
	for i := range half.Data {
		half.Data[i] = []byte{0x33, 0x55, 0x99, 0xC3, 0x5A, 0xA6}[rng.Uint64()%6]
	}
	starts := quanttest.Zeros("m.row_offsets", tensor.I64, r)
	for i := range r {
		binary.LittleEndian.PutUint64(starts.Data[8*i:], uint64(i*c/2))
	}
	plain("sparse 2:4", "", scales("m.compressed", tensor.BF16, r, c/2), given(half), given(shape("m.shape", r, c)))
	plain("sparse mask", "", scales("m.compressed", tensor.BF16, r*c/2), given(half), given(starts), given(shape("m.shape", r, c)))
	plain("sparse FP8", "", codes("m.compressed", tensor.F8E4M3, r, c/2), given(half), given(shape("m.shape", r, c)), scales("m.weight_scale", tensor.F32, r, 1))
	fp8 := func(name string, d, scale tensor.DType, cols int64, grid ...int64) {
		plain(name, "", codes("m.weight", d, r, cols), scales("m.weight_scale", scale, grid...))
	}
	fp8("FP8 tensor", tensor.F8E4M3, tensor.F32, c)
	fp8("FP8 rows", tensor.F8E4M3, tensor.BF16, c, r, 1)
	fp8("FP8 blocks", tensor.F8E4M3, tensor.F32, c, r/128, c/128)
	fp8("FP8 blocks, ragged", tensor.F8E4M3, tensor.F32, c-33, r/128, c/128)
	fp8("FP8 groups of 40", tensor.F8E4M3, tensor.F32, c-16, r, (c-16)/40)
	fp8("FP8 groups of 13", tensor.F8E4M3, tensor.F32, c-1, r, (c-1)/13)
	fp8("FP8 E5M2", tensor.F8E5M2, tensor.F32, c)
	fp8("MXFP8", tensor.F8E4M3, tensor.U8, c, r, c/32)
	fp8("INT8 rows", tensor.I8, tensor.BF16, c, r, 1)
	fp8("INT8 groups", tensor.I8, tensor.BF16, c, r, c/128)
	columns := `{"quantization_config":{"weight_block_size":[128,1]}}`
	zero := codes("m.weight_zero_point", tensor.I8, r, 1)
	e4m3 := scales("m.weight_zero_point", tensor.F8E4M3, r, 1)
	plain("FP8 zeros", "", codes("m.weight", tensor.F8E4M3, r, c), scales("m.weight_scale", tensor.F32, r, 1), zero)
	plain("FP8 zeros of FP8", "", codes("m.weight", tensor.F8E4M3, r, c), scales("m.weight_scale", tensor.F32, r, 1), e4m3)
	plain("FP8 E5M2 zeros", "", codes("m.weight", tensor.F8E5M2, r, c), scales("m.weight_scale", tensor.F32, r, 1), zero)
	plain("FP8 groups, zeros", "", codes("m.weight", tensor.F8E4M3, r, c), scales("m.weight_scale", tensor.F32, r, c/32), codes("m.weight_zero_point", tensor.I8, r, c/32))
	plain("FP8 cast", "", codes("m.weight", tensor.F8E4M3, r, c))
	plain("FP8 columns", quanttest.Method("fbgemm_fp8", ""), codes("e.gate_up_proj", tensor.F8E4M3, 1, r, c), scales("e.gate_up_proj_scale", tensor.F32, 1, 1, c))
	plain("INT8 columns", columns, codes("m.weight", tensor.I8, r, c), scales("m.weight_scale", tensor.F32, r/128, c))
	plain("INT8 zeros", "", codes("m.weight", tensor.I8, r, c), scales("m.weight_scale", tensor.BF16, r, 1), zero)
	plain("INT8 groups, zeros", "", codes("m.weight", tensor.I8, r, c), scales("m.weight_scale", tensor.BF16, r, c/32), codes("m.weight_zero_point", tensor.I8, r, c/32))
	plain("INT8 tensor, zero", "", codes("m.weight", tensor.I8, r, c), scales("m.weight_scale", tensor.BF16, 1), codes("m.weight_zero_point", tensor.I8, 1))
	plain("NVFP4", "", codes("m.weight_packed", tensor.U8, r, c/2), scales("m.weight_scale", tensor.F8E4M3, r, c/16), scales("m.weight_global_scale", tensor.F32, 1))
	plain("NVFP4 ModelOpt", "", codes("m.weight", tensor.U8, r, c/2), scales("m.weight_scale", tensor.F8E4M3, r, c/16), scales("m.weight_scale_2", tensor.F32))
	plain("NVFP4 fused", "", codes("e.w", tensor.U8, 1, r/2, c), scales("e.w_weight_scale", tensor.F8E4M3, 1, r/16, c), scales("e.w_weight_scale_2", tensor.F32))
	plain("NVFP4 folded", "", codes("m.weight", tensor.U8, r, c/2), scales("m.weight_scale", tensor.F8E4M3, r, c/16), scales("m.weight_scale_2", tensor.F32), scales("m.pre_quant_scale", tensor.BF16, c))
	plain("MXFP4", "", codes("m.weight_packed", tensor.U8, r, c/2), scales("m.weight_scale", tensor.U8, r, c/32))
	plain("MXFP4 DeepSeek", "", codes("m.weight", tensor.I8, r, c/2), scales("m.scale", tensor.F8E8M0, r, c/32))
	plain("ModelOpt 4", "", codes("m.weight", tensor.U8, r/2, c), scales("m.weight_scale", tensor.F32, r, c/128))
	plain("ModelOpt 4 folded", "", codes("m.weight", tensor.U8, r/2, c), scales("m.weight_scale", tensor.F32, r, c/128), scales("m.pre_quant_scale", tensor.BF16, c))
	plain("gpt-oss", "", codes("e.down_proj_blocks", tensor.U8, 1, r, c/32, 16), scales("e.down_proj_scales", tensor.U8, 1, r, c/32))
	plain("GGUF NVFP4", "", codes("m.weight", tensor.NVFP4, r, c))
	plain("GGUF NVFP4, factor", "", codes("m.weight", tensor.NVFP4, r, c), scales("m.scale", tensor.F32, 1))
	plain("GGUF Q4_K", "", codes("m.weight", tensor.Q4_K, r, c))
	plain("bnb INT8", "", codes("h.c_attn.weight", tensor.I8, r, c), scales("h.c_attn.SCB", tensor.F32, r))
	bnb := func(name, kind string, rows, cols, block int64, nested bool) {
		state := fmt.Sprintf(`{"quant_type":%q,"blocksize":%d,"dtype":"bfloat16","shape":[%d,%d],"nested_blocksize":256,"nested_dtype":"float32","nested_offset":0.1}`, kind, block, rows, cols)
		const w = "h.c_attn.weight"
		blocks := (rows*cols + block - 1) / block
		if nested {
			plain(name, "", codes(w, tensor.U8, (rows*cols+1)/2, 1), codes(w+".absmax", tensor.U8, blocks), scales(w+".quant_map", tensor.F32, 16),
				scales(w+".nested_absmax", tensor.F32, (blocks+255)/256), scales(w+".nested_quant_map", tensor.F32, 256), given(text(w+".quant_state.bitsandbytes__"+kind, state)))
			return
		}
		plain(name, "", codes(w, tensor.U8, (rows*cols+1)/2, 1), scales(w+".absmax", tensor.F32, blocks), scales(w+".quant_map", tensor.F32, 16), given(text(w+".quant_state.bitsandbytes__"+kind, state)))
	}
	bnb("bnb NF4", "nf4", r, c, 64, false)
	bnb("bnb FP4", "fp4", r, c, 64, false)
	bnb("bnb NF4, blocks of 4096", "nf4", r, c, 4096, false)
	bnb("bnb NF4, blocks of 100", "nf4", r, c, 100, false)
	bnb("bnb NF4, odd rows", "nf4", r, c-1, 64, false)
	bnb("bnb NF4, odd blocks", "nf4", r, c, 63, false)
	bnb("bnb nested", "nf4", r, c, 64, true)
	ternary := func(name, more string) {
		plain(name, quanttest.Method("bitnet", more), codes("m.weight", tensor.U8, r/4, c), scales("m.weight_scale", tensor.BF16, 1))
	}
	ternary("BitNet", "")
	ternary("BitNet, multiplied", `,"linear_class":"autobitlinear"`)
	plain("Gemma 2", quanttest.Method("gemma", `,"num_bits":2`), codes("m.weight", tensor.U8, r, c/4), scales("m.weight_scale", tensor.F32, r, 1))
	plain("Gemma 4", quanttest.Method("gemma", `,"num_bits":4`), codes("m.weight", tensor.U8, r, c/2), scales("m.weight_scale", tensor.F32, r, 1))
	plain("Gemma 8", quanttest.Method("gemma", ""), codes("m.weight", tensor.I8, r, c), scales("m.weight_scale", tensor.F32, r, 1))
	plain("Gemma 4 embedding", quanttest.Method("gemma", `,"num_bits":4`), codes("m.embedding_quantized", tensor.U8, r, c/2), scales("m.embedding_scale", tensor.F32, r, c/256))
	plain("AWQ GEMV", quanttest.Method("awq", `,"group_size":128`), codes("m.qweight", tensor.I32, r, c/8), codes("m.qzeros", tensor.I32, r, c/1024), scales("m.scales", tensor.F16, r, c/128))
	plain("GEMV_FAST", quanttest.Method("awq", `,"group_size":128`), codes("m.qweight", tensor.I16, r/4, c), scales("m.qzeros", tensor.F16, c/128, r), scales("m.scales", tensor.F16, c/128, r))
	torchao := func(name, kind string, d, zero tensor.DType, groups int64) {
		all[name] = func() tensor.Model {
			s := []quanttest.Stored{random(rng, "m._weight_qdata", d, r, c), sane(rng, "m._weight_scale", tensor.F32, r, groups)}
			if zero != 0 {
				s = append(s, random(rng, "m._weight_zero_point", zero, r, groups))
			}
			return &quanttest.Pickled{Model: quanttest.Model("", s...), Entries: []quanttest.Entry{{Key: "tensor_names", Value: `["m.weight"]`}, {Key: "m.weight", Value: `{"_type":"` + kind + `"}`}}}
		}
	}
	torchao("TorchAO rows", "Int8Tensor", tensor.I8, tensor.I8, 1)
	torchao("TorchAO groups", "IntxUnpackedToInt8Tensor", tensor.I8, tensor.I8, c/32)
	torchao("TorchAO FP8", "Float8Tensor", tensor.F8E4M3, 0, 1)
	plain("ComfyUI fp4", "", codes("m.weight", tensor.U8, r, c/2), scales("m.weight_scale", tensor.F8E4M3, r, c/16), scales("m.weight_scale_2", tensor.F32), given(text("m.comfy_quant", `{"format":"nvfp4"}`)))
	plain("ComfyUI mxfp8", "", codes("m.weight", tensor.F8E4M3, r, c), scales("m.weight_scale", tensor.F8E8M0, r, c/32), given(text("m.comfy_quant", `{"format":"mxfp8"}`)))
	return all
}

// transposedModels are those of which a folder has the transpose.
func transposedModels(all map[string]func() tensor.Model) map[string]func() tensor.Model {
	transposed := map[string]func() tensor.Model{"gpt-oss": all["gpt-oss"]}
	for _, name := range []string{"GPTQ 3", "GPTQ 4", "GPTQ 8", "GPTQ 4 act", "AWQ 3", "AWQ 4", "AWQ 8", "bnb NF4", "bnb NF4, blocks of 100", "bnb nested", "bnb INT8"} {
		transposed[name] = func() tensor.Model {
			m, config := all[name]().(*tensor.File), `{"quantization_config":{}}`
			if m.Folder != nil {
				text, _ := fs.ReadFile(m.Folder, "config.json")
				config = string(text)
			}
			m.Folder = fstest.MapFS{"config.json": {Data: []byte(`{"model_type":"gpt2",` + config[1:])}}
			return m
		}
	}
	return transposed
}
