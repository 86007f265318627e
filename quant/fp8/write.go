package fp8

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Targets are the layout of DeepSeek, which transformers' own FP8 has too.
var Targets = []*encode.Target{{
	Name: "fp8", Library: "DeepSeek", Scaled: &blocks, Fuses: true, Replaces: true, Served: encode.Served{Method: "fp8"}, Start: start,
}}

var blocks = scaled.Format{Name: "fp8", Layout: "FP8 E4M3 of DeepSeek, one scale for 128 x 128", Code: scaled.E4M3, Rows: 128, Cols: 128, Inverse: true, Whole: true}

// encoder encodes the weights of one model.
type encoder struct{ encode.Scaled }

func start(j *encode.Job) (encode.Encoder, error) {
	e := &encoder{}
	e.Names = func(weight string, lines, per int64) (codes, scales string, shape []int64) {
		return weight, weight + "_scale_inv", []int64{lines, per}
	}
	if err := e.Start(j); err != nil {
		return nil, err
	}
	e.Breaks("fp8")
	return e, nil
}

// Takes decides about a tensor. transformers loads experts as FP8, but it has no class
// for other modules that are stored transposed, or for blocks that the edge of a matrix
// cuts.
func (e *encoder) Takes(name string, shape []int64) (encode.Verdict, error) {
	also := func(why transformers.Reason) bool { return why == transformers.Expert }
	return e.TakesAligned(name, shape, also, e.Format().Fits, "blocks")
}

// Config returns transformers' FineGrainedFP8Config.
func (e *encoder) Config() ([]byte, error) {
	skip, err := e.Skipped()
	if err != nil {
		return nil, err
	}
	w := jsontree.NewText(e.Budget)
	w.Put("{\n  \"activation_scheme\": \"dynamic\",\n  \"fmt\": \"e4m3\",\n  \"modules_to_not_convert\": ")
	w.Names(skip)
	w.Put(",\n  \"quant_method\": \"fp8\",\n  \"weight_block_size\": [\n    ", strconv.FormatInt(e.Format().Rows, 10), ",\n    ", strconv.FormatInt(e.Format().Cols, 10), "\n  ]\n}")
	return w.Done()
}
