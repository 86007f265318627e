package convert

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// config returns the quantization_config: transformers' FineGrainedFP8Config, or a group
// of compressed-tensors.
func (e *scaledEncoder) config() ([]byte, error) {
	w := jsontree.NewText(e.b)
	if e.f.Inverse {
		skip, err := e.skipped()
		if err != nil {
			return nil, err
		}
		w.Put("{\n  \"activation_scheme\": \"dynamic\",\n  \"fmt\": \"e4m3\",\n  \"modules_to_not_convert\": ")
		w.Names(skip)
		w.Put(",\n  \"quant_method\": \"fp8\",\n  \"weight_block_size\": [\n    ", strconv.FormatInt(e.f.Rows, 10), ",\n    ", strconv.FormatInt(e.f.Cols, 10), "\n  ]\n}")
		return w.Done()
	}
	if e.f.Library == scaled.TorchAO {
		return e.torchaoConfig(e.f.Code, e.f.Cols)
	}
	ignored, err := e.ignored()
	if err != nil {
		return nil, err
	}
	if e.f.Library == scaled.ModelOpt {
		algo := map[bool]string{true: "FP8_PER_CHANNEL_PER_TOKEN", false: "FP8_PB_WO"}[e.f.Rows == 1]
		modelOptConfig(w, algo, "", ignored)
		return w.Done()
	}
	w.Put("{\n  \"config_groups\": {\n    \"group_0\": {\n      \"input_activations\": ", e.activations(), ",\n      \"output_activations\": null,\n")
	w.Put("      \"targets\": [\n        \"Linear\"\n      ],\n      \"weights\": ", e.weights(), "\n    }\n  },\n  \"format\": \"", e.format(), "\",\n  \"ignore\": ")
	w.Names(ignored)
	w.Put(",\n  \"kv_cache_scheme\": null,\n  \"quant_method\": \"compressed-tensors\",\n  \"quantization_status\": \"compressed\"\n}")
	return w.Done()
}

// format returns compressed-tensors' name of the layout.
func (e *scaledEncoder) format() string {
	switch e.f.Code {
	case scaled.E4M3:
		return "float-quantized"
	case scaled.Int8:
		return "int-quantized"
	}
	return "pack-quantized"
}

// activations returns how inputs are quantized at run time: by token, or in blocks as the
// weight; not at all with packed weights.
func (e *scaledEncoder) activations() string {
	switch {
	case e.f.Code.Packed():
		return "null"
	case e.f.Rows > 1:
		return e.arguments("group", "true", e.f.Cols)
	}
	return e.arguments("token", "true", 0)
}

func (e *scaledEncoder) weights() string {
	switch {
	case e.f.Rows > 1:
		return e.arguments("block", "false", 0)
	case e.f.Cols > 0:
		return e.arguments("group", "false", e.f.Cols)
	}
	return e.arguments("channel", "false", 0)
}

// arguments returns compressed-tensors' QuantizationArgs.
func (e *scaledEncoder) arguments(strategy, dynamic string, group int64) string {
	size, kind, block := "null", "int", ""
	if group > 0 {
		size = strconv.FormatInt(group, 10)
	}
	if e.f.Code == scaled.E4M3 {
		kind = "float"
	}
	if strategy == "block" {
		block = "\n        \"block_structure\": [\n          " + strconv.FormatInt(e.f.Rows, 10) + ",\n          " + strconv.FormatInt(e.f.Cols, 10) + "\n        ],"
	}
	return "{" + block + "\n        \"dynamic\": " + dynamic + ",\n        \"group_size\": " + size + ",\n        \"num_bits\": " + strconv.Itoa(e.f.Code.Bits()) +
		",\n        \"strategy\": \"" + strategy + "\",\n        \"symmetric\": true,\n        \"type\": \"" + kind + "\"\n      }"
}

// spellings returns the names of a module: that in the file, and that in transformers, which
// compares it with lists in config.json.
func (e *linearEncoder) spellings(module string) []string {
	if len(e.classes) > 0 {
		if other, _ := loaders.InModel(e.Type, e.classes[0], module); other != module {
			return []string{module, other}
		}
	}
	return []string{module}
}

// knownNames reports whether the names that transformers gives the modules of the class are
// known, where they differ from those of the file.
func (e *linearEncoder) knownNames() bool {
	if len(e.classes) == 0 {
		return false
	}
	_, known := loaders.InModel(e.Type, e.classes[0], "")
	return known
}

// ignored lists the linear modules that are left alone by name; the group targets all
// others of that class. Experts are one pattern.
func (e *linearEncoder) ignored() ([]string, error) {
	var out []string
	headed, experts := false, false
	some := slices.ContainsFunc(e.Weights, func(w QuantizedWeight) bool { return expertsEnd(w.Name) > 0 })
	for i := range e.Kept {
		k := &e.Kept[i]
		headed = headed || k.reason == transformers.Head
		name := strings.TrimSuffix(k.Name, ".weight")
		switch {
		case k.reason == transformers.Embedding:
			continue
		case k.reason == transformers.Expert && some: // by its name: others are quantized
		case k.reason == transformers.Expert && experts:
			continue
		case k.reason == transformers.Expert:
			experts, name = true, `re:.*\.experts\..*`
		}
		for _, spelled := range e.spellings(name) {
			var err error
			if out, err = limits.Append(e.b, out, spelled); err != nil {
				return nil, err
			}
		}
	}
	if !headed { // it shares the embedding's numbers, and is in no file
		out = append(out, "lm_head")
	}
	var err error
	if e.rule.Table != nil { // the same under other names, such as Whisper's proj_out
		e.rule.Table.Absent(e.rule.HasTensor, func(module string) {
			if err == nil {
				out, err = limits.Append(e.b, out, module)
			}
		})
	}
	slices.Sort(out)
	return slices.Compact(out), err
}
