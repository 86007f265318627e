package quant

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/google/go-cmp/cmp"
)

// notDecoded are methods of which no weight is decoded, whatever their keys.
var notDecoded = []string{"aqlm", "eetq", "fouroversix", "fp_quant", "gguf", "higgs", "sinq", "spqr", "vptq"}

// Every key of the configurations that libraries write is known, and every value has the expected
// kind.
func TestConfigurationsThatLibrariesWriteAreExplained(t *testing.T) {
	text, err := os.ReadFile("../testdata/quant/configs.json")
	if err != nil {
		t.Fatal(err)
	}
	var written map[string]json.RawMessage
	if err := json.Unmarshal(text, &written); err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	for name, object := range written {
		b := limits.Policy{}.Budget(t.Context())
		files := fstest.MapFS{"config.json": {Data: []byte(`{"quantization_config":` + string(object) + `}`)}}
		c, err := config.Load(b, files, "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		method := c.Method()
		met[method] = true
		if slices.Contains(notDecoded, method) {
			continue
		}
		known := slices.Clone(scheme.AnyKeys)
		for _, r := range rows.Rows {
			for _, m := range r.Methods {
				if m.Name == method {
					known = append(known, m.Known...)
				}
			}
		}
		var unknown []string
		if err := config.Known(b, c.Quant, known, func(name string, _ jsontree.Value) error {
			unknown = append(unknown, name)
			return nil
		}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]string(nil), unknown); diff != "" {
			t.Errorf("%s, %s, unknown keys: %s", name, method, diff)
		}
		b.Close()
	}
	for _, method := range append(slices.Clone(notDecoded), "gptq", "awq", "auto-round", "compressed-tensors", "torchao", "hqq", "bitsandbytes", "fp8", "mxfp4") {
		if !met[method] {
			t.Errorf("no configuration of %s", method)
		}
	}
}
