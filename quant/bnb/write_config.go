package bnb

import "github.com/anamnesis-go/anamnesis/internal/jsontree"

// Config returns the quantization_config with the members of transformers'
// BitsAndBytesConfig. It lists every module that is left alone, because with a list
// transformers ignores its own rules.
func (e *encoder) Config() ([]byte, error) {
	skip, err := e.Skipped()
	if err != nil {
		return nil, err
	}
	four := e.o.Type != INT8
	kind, compute := e.o.Type.String(), e.compute
	if !four {
		kind = FP4.String() // the library's default
	}
	if compute == "" || !four {
		compute = "float32"
	}
	w := jsontree.NewText(e.Budget)
	member := func(name, value string) { w.Put("  \"", name, "\": ", value, ",\n") }
	truth := map[bool]string{false: "false", true: "true"}
	w.Put("{\n")
	member("_load_in_4bit", truth[four])
	member("_load_in_8bit", truth[!four])
	member("bnb_4bit_compute_dtype", `"`+compute+`"`)
	member("bnb_4bit_quant_storage", `"uint8"`)
	member("bnb_4bit_quant_type", `"`+kind+`"`)
	member("bnb_4bit_use_double_quant", truth[e.o.Nested])
	member("llm_int8_enable_fp32_cpu_offload", "false")
	member("llm_int8_has_fp16_weight", "false")
	w.Put("  \"llm_int8_skip_modules\": ")
	w.Names(skip)
	w.Put(",\n")
	member("llm_int8_threshold", "6.0")
	member("load_in_4bit", truth[four])
	member("load_in_8bit", truth[!four])
	w.Put("  \"quant_method\": \"bitsandbytes\"\n}")
	return w.Done()
}
