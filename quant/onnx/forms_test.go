package onnx_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
)

// forms has what is said of each model of testdata/forms: the names of its weights, or why it is
// refused.
var forms = map[string]string{
	"attribute-unknown":      "an attribute that is not known",
	"axis-negative":          "[w]",
	"axis-outside":           "the axis 2 of shape [3 5]",
	"axis-reference":         "an attribute that is not known",
	"blocks-shape":           "scales of shape [5] for blocks of 2",
	"branch-of-inner":        "[y/else_branch/w y/then_branch/w]",
	"branch-of-outer":        "[w]",
	"codes-32-zeros":         "zero points of 32 bits that are not 0",
	"codes-type":             "codes of type I64",
	"constants":              "[w]",
	"function":               "[local:F/w]",
	"function-named-like-it": "a function of the model has its name",
	"function-of-outer":      "[]",
	"gather-axis":            "rows of another axis than the first",
	"gather-bits":            "5 bits in blocks of 16",
	"gather-scales":          "scales of shape [4 3] for blocks of 16 of [4 32]",
	"gather-type":            "codes of type I8, in blocks of axis 1",
	"gather-zeros":           "zero points U8 [4 3] for 2 blocks of a row",
	"integer":                "MatMulInteger: the operator is not read",
	"matmul-bits":            "3 bits in blocks of 16",
	"matmul-block":           "4 bits in blocks of 24",
	"matmul-index":           "g_idx",
	"matmul-prepacked":       "it is packed for one kind of processor",
	"matmul-scales":          "scales of shape [4 3] for 2 blocks of 4 rows",
	"matmul-size":            "of a matrix [5, 32]",
	"matmul-zeros":           "zero points F32 [4 2]",
	"result-type":            "its result has another type than its scales",
	"scale-computed":         "its scales or zero points are computed",
	"scale-shape":            "scales of shape [5] for the axis 0",
	"scales-joint":           "[w v_quantized]",
	"scales-texts":           "scales of type STRING",
	"scales-type":            "scales of type F64",
	"two-readings":           "operators read it in different ways",
	"zeros-shape":            "zero points I8 [3] for codes I8 and scales [5]",
}

// Codes are decoded if all that the graph says of them is understood, and refused by their
// operator if not. A function does not see the tensors of the graph that calls it.
func TestGraphsSayHowCodesAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/forms/*.onnx")
	if err != nil || len(files) != len(forms) {
		t.Fatalf("%d models of %d, %v", len(files), len(forms), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b := limits.Policy{}.Budget(t.Context())
			defer b.Close()
			m, err := parser.Open(b, file)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			bound, err := quant.Plan(b, m, quant.Options{Target: quant.F32})
			want := forms[strings.TrimSuffix(filepath.Base(file), ".onnx")]
			said := fmt.Sprint(err)
			if err == nil {
				names := []string{}
				for _, w := range bound.Weights {
					names = append(names, w.Name)
				}
				said = fmt.Sprint(names)
			}
			if !strings.Contains(said, want) || (err == nil) != (want[0] == '[') {
				t.Errorf("%s, want %s", said, want)
			}
		})
	}
}
