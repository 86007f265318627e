package encode

import "github.com/anamnesis-go/anamnesis/internal/transformers"

// expertFormats are the formats of compressed-tensors in which the experts of a model are
// quantized too, as by llm-compressor. transformers 5.23 stacks experts from codes, and
// in most of these formats does not find experts that are not quantized. The text says
// why it does not load the codes either, "" if it does. crosscheck/targets.py loads each.
var expertFormats = map[string]string{
	"w4a16": "", "w8a16": "", "mxfp4": "", "fp8_tensor": "", "fp8_dynamic": "",
	"nvfp4":      "its conversion of experts leaves the global scale out, so their numbers would be others",
	"w8a8":       "its conversion of experts reads no INT8 that is not packed",
	"w4a16_asym": "its conversion of experts reads no zero points",
	"w8a16_asym": "its conversion of experts reads no zero points",
}

// WithExperts reports whether a matrix that is kept as an expert is quantized in this format
// all the same, and notes what stops transformers from loading it.
func (e *Linear) WithExperts(format string, why transformers.Reason) bool {
	stops, takes := expertFormats[format]
	if takes = takes && why == transformers.Expert; takes && stops != "" {
		e.BreaksAgain = stops
	}
	return takes
}
