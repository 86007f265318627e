package compressed

import (
	"cmp"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// library is the library's name, also as other libraries know its method.
const library = "compressed-tensors"

// Floats, Integers and Groups are the targets, by the names of the library's presets.
var (
	Floats = []*encode.Target{
		ofBlocks(scaled.Format{Name: "fp8_dynamic", Layout: "FP8 E4M3 of compressed-tensors, one scale per row", Code: scaled.E4M3, Rows: 1}, "W8A8Fp8", "W8A8Fp8", experts("", false)),
		ofBlocks(scaled.Format{Name: "fp8_block", Layout: "FP8 E4M3 of compressed-tensors, one scale for 128 x 128", Code: scaled.E4M3, Rows: 128, Cols: 128}, "W8A8Fp8", "W8A8Fp8", nil),
	}
	Integers = []*encode.Target{
		ofBlocks(scaled.Format{Name: "w8a8", Layout: "INT8 of compressed-tensors, one scale per row", Code: scaled.Int8, Rows: 1}, "W8A8Int8", "W8A8Int8",
			experts("its conversion of experts reads no INT8 that is not packed", true)),
		ofBlocks(scaled.Format{Name: "w8a16", Layout: "INT8 packed by compressed-tensors, groups of 128", Code: scaled.Int8Packed, Rows: 1, Cols: 128, Whole: true}, "WNA16", "WNA16", experts("", true)),
		ofBlocks(scaled.Format{Name: tried, Layout: "INT4 packed by compressed-tensors, groups of 128", Code: scaled.Int4, Rows: 1, Cols: 128, Whole: true}, "WNA16", "WNA16", experts("", true)),
	}
	Groups = []*encode.Target{
		ofGroups(scaled.Groups{Name: "fp8_tensor", Layout: "FP8 E4M3 of compressed-tensors, one scale per matrix", Bits: 8, Float: true, Scale: scaled.Nothing, Global: true, Rule: scaled.WholeRule},
			"W8A8Fp8", "W8A8Fp8", experts("", false)),
		ofGroups(scaled.Groups{Name: "mxfp8", Layout: "MXFP8 of compressed-tensors, groups of 32", Bits: 8, Size: 32, Float: true, Scale: scaled.Exponent, Rule: scaled.ExponentRule},
			"W8A8Mxfp8", "W8A8Mxfp8", nil),
		ofGroups(mxfp4, "W4A4Mxfp4", "W4A4Mxfp4", experts("", true)),
		ofGroups(scaled.Groups{Name: "nvfp4", Layout: "NVFP4 of compressed-tensors, groups of 16", Bits: 4, Size: 16, Float: true, Scale: scaled.Float8, Global: true, Divides: true, Rule: scaled.DividedRule},
			"W4A4Fp4", "W4A16Fp4", experts("its conversion of experts leaves the global scale out, so their numbers would be others", true)),
		ofGroups(scaled.Groups{Name: "w4a16_asym", Layout: "INT4 packed by compressed-tensors, groups of 128, zero points", Bits: 4, Size: 128, Second: scaled.ZeroPoint, Rule: scaled.PointRule},
			"WNA16", "WNA16", experts("its conversion of experts reads no zero points", true)),
		ofGroups(scaled.Groups{Name: "w8a16_asym", Layout: "INT8 packed by compressed-tensors, groups of 128, zero points", Bits: 8, Size: 128, Second: scaled.ZeroPoint, Rule: scaled.PointRule},
			"WNA16", "WNA16", experts("its conversion of experts reads no zero points", true)),
	}
)

var mxfp4 = scaled.Groups{Name: "mxfp4", Layout: "MXFP4 of compressed-tensors, groups of 32", Bits: 4, Size: 32, Float: true, Scale: scaled.Exponent, Rule: scaled.ExponentRule}

// tried is the target that was tried with every type; the loader of the others is the same.
const tried = "w4a16"

// experts returns facts about experts in a target: what prevents transformers from loading their
// codes, and whether it finds them only as codes.
func experts(stops string, only bool) *encode.Experts {
	return &encode.Experts{Stops: stops, Only: only, Others: []encode.Other{{Name: "fp8_dynamic"}, {Name: mxfp4.Name, Fits: mxfp4.Fits}}}
}

// row returns the common part of the targets.
func row(name, vllm, sglang string, x *encode.Experts) *encode.Target {
	t := &encode.Target{Name: name, Library: library, Fuses: true, Replaces: true, Experts: x, Served: encode.Served{Method: library, VLLM: vllm, SGLang: sglang}}
	if name != tried {
		t.Served.TriedAs = tried
	}
	return t
}

func ofBlocks(f scaled.Format, vllm, sglang string, x *encode.Experts) *encode.Target {
	t := row(f.Name, vllm, sglang, x)
	t.Scaled, t.Start = &f, startBlocks
	return t
}

func ofGroups(f scaled.Groups, vllm, sglang string, x *encode.Experts) *encode.Target {
	t := row(f.Name, vllm, sglang, x)
	t.Groups, t.Start = &f, startGroups
	return t
}

// Encoders of the weights of one model: blocks has a scale for each block, groups for each group.
type (
	blocks struct{ encode.Scaled }
	groups struct{ encode.Grouped }
)

func startBlocks(j *encode.Job) (encode.Encoder, error) {
	e := &blocks{}
	if err := e.Start(j); err != nil {
		return nil, err
	}
	breaks(&e.Linear, false)
	return e, nil
}

func startGroups(j *encode.Job) (encode.Encoder, error) {
	e := &groups{}
	e.Plan = plan
	if err := e.Start(j); err != nil {
		return nil, err
	}
	breaks(&e.Linear, j.Target.Groups.Second == scaled.ZeroPoint)
	return e, nil
}

// breaks notes that transformers does not load the format for this type.
func breaks(e *encode.Linear, asymmetric bool) {
	if transformers.TakesApart(e.Type) {
		e.BreaksAgain = "it builds the experts one by one in this format, finds none in the file, where they are stacked, and initializes them at random"
	}
	if asymmetric {
		e.BreaksAgain = cmp.Or(e.BreaksAgain, "it makes no room for packed zero points, unless its CompressedTensorsConfig has dequantize=True")
	}
	e.Breaks(library)
}

// Takes decides about a tensor. Inputs of blocks are quantized in groups of the same columns,
// which must be whole in a model that runs. Of matrices that no configuration makes a model of,
// blocks at the edge are cut as the library cuts them.
func (e *blocks) Takes(name string, shape []int64) (encode.Verdict, error) {
	f := e.Format()
	fits := func(rows, cols int64) bool {
		return f.Fits(rows, cols) && !(f.Rows > 1 && e.Type != "" && cols%f.Cols != 0)
	}
	return e.TakesAligned(name, shape, e.WithExperts, fits, "blocks")
}

func (e *blocks) Loadings() ([]encode.Loading, error) {
	f := e.Format()
	loads(&e.Linear, f.Code.Packed())
	return e.Linear.Loadings()
}

func (e *groups) Loadings() ([]encode.Loading, error) {
	f := e.Format()
	loads(&e.Linear, f.Size > 0 && !(f.Float && f.Bits == 8))
	return e.Linear.Loadings()
}

// loads notes why transformers does not load a format by default, though it does where it
// decodes it: once all weights are known. packs says that codes are no weights.
func loads(e *encode.Linear, packs bool) {
	if e.BreaksAgain != "" {
		return
	}
	const unless = "; with dequantize=True in its CompressedTensorsConfig it loads"
	if packs {
		if set := e.SetByHand(); set >= 0 {
			e.BreaksAgain = "it sets the weight of " + strings.TrimSuffix(e.Weights[set].Name, ".weight") + " by hand while it loads, and packed codes have none" + unless
			return
		}
		if set := e.SetEach(); set >= 0 {
			e.BreaksAgain = "it sets the weight of every linear module by hand while it loads, and packed codes have none, as " + strings.TrimSuffix(e.Weights[set].Name, ".weight") + unless
			return
		}
		if why := transformers.Breaks(transformers.PackedRows, e.Type); why != "" {
			e.BreaksAgain = why
			return
		}
	}
	if why := e.KeptUnderAnotherName(); why != "" {
		e.BreaksAgain = why + unless
	}
}
