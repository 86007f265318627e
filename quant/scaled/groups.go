package scaled

import (
	"math"
	"slices"

	"github.com/anamnesis-go/anamnesis/asm"
)

// A Library is the one that writes a format, and whose names and arithmetic it has.
type Library uint8

// The libraries.
const (
	CompressedTensors Library = iota
	ModelOpt
	MLX
	GPTQModel
	AutoAWQ
	TorchAO
	GptOss // OpenAI's own files of these models, whose experts alone are quantized
)

// A Number is how a scale is stored.
type Number uint8

// The numbers.
const (
	OfWeights Number = iota // in the type of the model's weights
	Half                    // float16
	Exponent                // a byte: the power of two plus 127
	Float8                  // E4M3
	Nothing                 // there is none: the whole matrix has one
)

// A Second is what stands beside each scale.
type Second uint8

// The seconds.
const (
	None Second = iota
	ZeroPoint
	Bias
)

// Groups is a format whose numbers share scales in groups along a row. Some have a
// number over all scales of the matrix besides.
type Groups struct {
	Name    string // as the command line spells it
	Layout  string // for people
	Library Library
	Mode    string // what the library calls it, where it has several
	Bits    int
	Size    int64 // numbers of a group; 0 where the whole matrix has one scale
	Float   bool  // codes are E2M1 or E4M3
	E5M2    bool  // of eight bits: codes are E5M2 instead
	Scale   Number
	Second  Second
	Global  bool // a number stands over all scales, or in their place
	Divides bool // by the number over all scales, instead of multiplying
	// Half says that the library rounds weights to float16 before it quantizes them,
	// Bfloat the same of BF16.
	Half, Bfloat bool
	// Columns says that codes are packed along the inputs, so that a row of the
	// weight is a column of what is stored.
	Columns bool

	rule func(g group, x []float32) group
}

// A group is what a rule makes of some numbers: their codes, the scale and what
// stands beside it, as they are decoded.
type group struct {
	f      *Groups
	d      asm.Type // of the model's weights, in which the library computes
	global float32
	most   float32 // the largest magnitude
	codes  []byte
	scale  float32
	second float32
}

var groups = append([]Groups{
	{Name: "fp8_tensor", Layout: "FP8 E4M3 of compressed-tensors, one scale per matrix", Bits: 8, Float: true, Scale: Nothing, Global: true, rule: wholeRule},
	{Name: "mxfp8", Layout: "MXFP8 of compressed-tensors, groups of 32", Bits: 8, Size: 32, Float: true, Scale: Exponent, rule: exponentRule},
	{Name: "mxfp4", Layout: "MXFP4 of compressed-tensors, groups of 32", Bits: 4, Size: 32, Float: true, Scale: Exponent, rule: exponentRule},
	{Name: "nvfp4", Layout: "NVFP4 of compressed-tensors, groups of 16", Bits: 4, Size: 16, Float: true, Scale: Float8, Global: true, Divides: true, rule: nvfp4Rule},
	{Name: "w4a16_asym", Layout: "INT4 packed by compressed-tensors, groups of 128, zero points", Bits: 4, Size: 128, Second: ZeroPoint, rule: pointRule},
	{Name: "w8a16_asym", Layout: "INT8 packed by compressed-tensors, groups of 128, zero points", Bits: 8, Size: 128, Second: ZeroPoint, rule: pointRule},
	{Name: "modelopt_fp8", Layout: "FP8 E4M3 of ModelOpt, one scale per matrix", Library: ModelOpt, Bits: 8, Float: true, Scale: Nothing, Global: true, rule: wholeRule},
	{Name: "torchao_fp8_e5m2_tensor", Layout: "FP8 E5M2 of TorchAO, one scale per matrix", Library: TorchAO, Bits: 8, Float: true, E5M2: true, Scale: Nothing, Global: true, rule: wholeRule},
	{Name: "modelopt_nvfp4", Layout: "NVFP4 of ModelOpt, groups of 16", Library: ModelOpt, Bits: 4, Size: 16, Float: true, Scale: Float8, Global: true, rule: modelOptRule},
	{Name: "modelopt_mxfp8", Layout: "MXFP8 of ModelOpt, groups of 32", Library: ModelOpt, Bits: 8, Size: 32, Float: true, Scale: Exponent, rule: modelOptMXRule},
	{Name: "gpt_oss", Layout: "MXFP4 of gpt-oss, groups of 32", Library: GptOss, Bits: 4, Size: 32, Float: true, Scale: Exponent, Bfloat: true, rule: ossRule},
	{Name: "gptq_2", Layout: "INT2 as GPTQ packs it, groups of 128, rounded to nearest", Library: GPTQModel, Bits: 2, Size: 128, Scale: Half, Second: ZeroPoint, Columns: true, rule: gptqRule},
	{Name: "gptq_3", Layout: "INT3 as GPTQ packs it, groups of 128, rounded to nearest", Library: GPTQModel, Bits: 3, Size: 128, Scale: Half, Second: ZeroPoint, Columns: true, rule: gptqRule},
	{Name: "gptq", Layout: "INT4 as GPTQ packs it, groups of 128, rounded to nearest", Library: GPTQModel, Bits: 4, Size: 128, Scale: Half, Second: ZeroPoint, Columns: true, rule: gptqRule},
	{Name: "gptq_8", Layout: "INT8 as GPTQ packs it, groups of 128, rounded to nearest", Library: GPTQModel, Bits: 8, Size: 128, Scale: Half, Second: ZeroPoint, Columns: true, rule: gptqRule},
	{Name: "awq", Layout: "INT4 as AWQ packs it, groups of 128, rounded to nearest", Library: AutoAWQ, Bits: 4, Size: 128, Scale: Half, Second: ZeroPoint, Half: true, Columns: true, rule: awqRule},
	{Name: "mlx_mxfp4", Layout: "MXFP4 of MLX, groups of 32", Library: MLX, Mode: "mxfp4", Bits: 4, Size: 32, Float: true, Scale: Exponent, rule: mlxFloatRule},
	{Name: "mlx_mxfp8", Layout: "MXFP8 of MLX, groups of 32", Library: MLX, Mode: "mxfp8", Bits: 8, Size: 32, Float: true, Scale: Exponent, rule: mlxFloatRule},
	{Name: "mlx_nvfp4", Layout: "NVFP4 of MLX, groups of 16", Library: MLX, Mode: "nvfp4", Bits: 4, Size: 16, Float: true, Scale: Float8, rule: mlxFloatRule},
}, affine(2, 3, 4, 5, 6, 8)...)

// affine are MLX's integers of some bits.
func affine(bits ...int) (list []Groups) {
	for _, n := range bits {
		digit := string(rune('0' + n))
		list = append(list, Groups{Name: "mlx_" + digit, Layout: "INT" + digit + " of MLX, groups of 64", Library: MLX, Mode: "affine", Bits: n, Size: 64, Second: Bias, rule: affineRule})
	}
	return list
}

// GroupFormats lists the formats in groups that can be written.
func GroupFormats() []Groups { return slices.Clone(groups) }

// FindGroups gives the format in groups of a name.
func FindGroups(name string) (Groups, bool) {
	i := slices.IndexFunc(groups, func(f Groups) bool { return f.Name == name })
	if i < 0 {
		return Groups{}, false
	}
	return groups[i], true
}

// Step is how many numbers are encoded at once: a group, or where there is none, as
// many as are handy.
func (f *Groups) Step() int64 {
	if f.Size == 0 {
		return maxStep
	}
	return f.Size
}

// maxStep is the most numbers that Step gives.
const maxStep = 256

// Count is how many groups a row has.
func (f *Groups) Count(cols int64) int64 {
	if f.Size == 0 {
		return 0
	}
	return cols / f.Size
}

// Lines is how many rows are stored together, since their zero points share words: as
// many as fill whole ones, of three bits too.
func (f *Groups) Lines() int64 {
	switch {
	case f.Second != ZeroPoint:
		return 1
	case f.Bits == 3:
		return 32
	}
	return 32 / int64(f.Bits)
}

// Fits reports whether a matrix can be cut into groups, and words where that cannot
// be told of its size.
func (f *Groups) Fits(rows, cols int64) bool {
	return (f.Size == 0 || cols%f.Size == 0) && (!f.Columns || rows%32 == 0)
}

// RowBytes is the bytes of a row's codes.
func (f *Groups) RowBytes(cols int64) int64 { return cols * int64(f.Bits) / 8 }

// Over is the number over all scales, from the largest magnitude of a matrix whose
// numbers have the type d.
func (f *Groups) Over(most float32, d asm.Type) float32 {
	switch {
	case f.Size == 0 && f.Library == ModelOpt:
		return nonzero(most/448, asm.F32)
	case f.Size == 0 && f.E5M2:
		return nonzero(round(d, most/57344), d)
	case f.Size == 0:
		return nonzero(round(d, most/448), d)
	case f.Divides:
		most = max(most, tiny(d))
		over := round(d, float32(round(d, 1/most)*largestNVFP4)) // torch divides a number by a tensor so
		if !isFinite(over) {
			return 1
		}
		return over
	}
	return most / largestNVFP4
}

// Fused gives the number over the scales of matrices that loaders put together.
func (f *Groups) Fused(a, b float32) float32 {
	if f.Divides {
		return min(a, b)
	}
	return max(a, b)
}

// largestNVFP4 is the largest scale times the largest code.
const largestNVFP4 = 448 * 6

// Most is the largest magnitude of some numbers and of what was largest before.
func Most(most float32, list []float32) (float32, error) {
	m := largestOf(list)
	if !isFinite(m) {
		return 0, firstBad(list, 0, 0)
	}
	return max(most, m), nil
}

// largestOf is the largest magnitude, of bits: those of what is not finite are larger than all others.
func largestOf(x []float32) float32 {
	most := uint32(0)
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return math.Float32frombits(most)
}

// A Coded is one group as it is stored.
type Coded struct {
	Codes []byte  // one a number
	Scale float32 // rounded to what is stored
	// Second is the zero point, as an unsigned code, or the bias, rounded.
	Second float32
}

// Encode makes the codes of one group; the numbers have the type d already. There
// must be as many codes as numbers.
func (f *Groups) Encode(codes []byte, x []float32, d asm.Type, over float32) (Coded, error) {
	most := largestOf(x)
	if !isFinite(most) {
		return Coded{}, firstBad(x, 0, 0)
	}
	g := f.rule(group{f: f, d: d, global: over, most: most, codes: codes}, x)
	if !isFinite(g.scale) || !isFinite(over) {
		return Coded{}, &Bad{0, x[0]}
	}
	return Coded{codes, g.scale, g.second}, nil
}

// Decode is the numbers of a group, in float32.
func (f *Groups) Decode(dst []float32, c *Coded, over float32) {
	scale := c.Scale
	switch {
	case f.Size == 0:
		scale = over
	case f.Global && f.Divides:
		scale /= over
	case f.Global:
		scale *= over
	}
	for i, code := range c.Codes {
		switch {
		case f.Second == Bias:
			dst[i] = float32(float32(code)*scale) + c.Second
		case f.Second == ZeroPoint:
			dst[i] = (float32(code) - c.Second) * scale
		case f.Bits == 4:
			dst[i] = e2m1[code] * scale
		case f.E5M2:
			dst[i] = FromE5M2(code) * scale
		default:
			dst[i] = FromE4M3(code) * scale
		}
	}
}
