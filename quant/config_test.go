package quant_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// words32 is I32 words of one value.
func words32(n int, value uint32) []byte {
	var out []byte
	for range n {
		out = binary.LittleEndian.AppendUint32(out, value)
	}
	return out
}

// gptqModel is 64 inputs and 64 outputs of four bits, all codes 8, whose zero
// points are the given word.
func gptqModel(config, module string, zeros uint32) tensor.Model {
	return model(config,
		stored{module + ".qweight", tensor.I32, []int64{8, 64}, words32(8*64, 0x88888888)},
		stored{module + ".qzeros", tensor.I32, []int64{2, 8}, words32(16, zeros)},
		stored{module + ".scales", tensor.F16, []int64{2, 64}, bytes.Repeat([]byte{0, 0x3C}, 128)})
}

func gptqConfig(method, more string) string {
	return fmt.Sprintf(`{"quantization_config":{"quant_method":"%s","bits":4,"group_size":32%s}}`, method, more)
}

func TestZeroPointsThatContradictTheConfigurationAskTheCaller(t *testing.T) {
	const v1, v2 = 0x77777777, 0x88888888 // of symmetric codes
	for _, tc := range []struct {
		what, config, flag string
		zeros              uint32
		want               string // first number, or what the error says
	}{
		{"v1 as promised", gptqConfig("gptq", `,"sym":true,"checkpoint_format":"gptq"`), "", v1, "0"},
		{"v2 as promised", gptqConfig("gptq", `,"sym":true,"checkpoint_format":"gptq_v2"`), "", v2, "0"},
		{"v2 where v1 is promised", gptqConfig("gptq", `,"sym":true,"checkpoint_format":"gptq"`), "", v2, "quant.Options.GPTQZeros"},
		{"v1 where v2 is promised", gptqConfig("gptq", `,"sym":true,"checkpoint_format":"gptq_v2"`), "", v1, "quant.Options.GPTQZeros"},
		{"v2 where nothing is promised", "", "", v2, "quant.Options.GPTQZeros"},
		{"v1 where nothing is promised", "", "", v1, "0"},
		{"the caller says v1", gptqConfig("gptq", `,"sym":true,"checkpoint_format":"gptq_v2"`), "v1", v1, "0"},
		{"the caller says v2", gptqConfig("gptq", `,"sym":true`), "v2", v2, "0"},
		{"zero points of other codes", gptqConfig("gptq", `,"sym":false`), "", v2, "-1"},
		{"symmetric codes around another number", gptqConfig("gptq", `,"sym":true`), "", 0x66666666, "quant.Options.GPTQZeros"},
		{"symmetric codes around several numbers", gptqConfig("gptq", `,"sym":true`), "", 0x77777778, "quant.Options.GPTQZeros"},
		{"the caller says v2 of several numbers", gptqConfig("gptq", `,"sym":true`), "v2", 0x77777778, "0"},
		{"several numbers, and nothing is said", gptqConfig("gptq", ""), "", 0x88888887, "0"},
		{"AutoRound's GPTQ", gptqConfig("auto-round", `,"sym":true,"packing_format":"auto_round:auto_gptq"`), "", v1, "0"},
		{"AutoRound's GPTQ under its old name", gptqConfig("intel/auto-round", `,"sym":true,"backend":"auto_round:gptq:exllamav2"`), "", v1, "0"},
		{"AutoRound's own", gptqConfig("auto-round", `,"sym":false,"packing_format":"auto_round"`), "", v2, "0"},
		{"AutoRound's own under its old name", gptqConfig("intel/auto-round", `,"sym":false,"backend":"auto_round:exllamav2"`), "", v2, "0"},
		{"AutoRound's GPTQModel", gptqConfig("auto-round", `,"sym":false,"packing_format":"auto_round:gptqmodel"`), "", v2, "0"},
		{"AutoRound's own that are GPTQ's", gptqConfig("auto-round", `,"sym":true,"packing_format":"auto_round:gptqmodel"`), "", v1, "quant.Options.GPTQZeros"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			m := gptqModel(tc.config, "m", tc.zeros)
			bound, b, err := plan(t, m, quant.Options{Target: quant.F32, GPTQZeros: tc.flag})
			if strings.HasPrefix(tc.want, "quant.") {
				if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, %+v", err, bound)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w := bound.Weights[0]
			dst := make([]byte, w.Size(quant.F32))
			if err := quant.Decode(b, m, w, dst, quant.F32); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(floats(dst)[0]); got != tc.want {
				t.Errorf("decoded %s, want %s", got, tc.want)
			}
		})
	}
}

func TestModulesHavePropertiesOfTheirOwn(t *testing.T) {
	packed := func(config string) tensor.Model { // 13 columns of 4 or 5 bits in three words
		return model(config,
			ints("model.layers.0.mlp.down.weight_packed", tensor.I32, 2, 3), ints("model.layers.0.mlp.down.weight_scale", tensor.BF16, 2, 1),
			stored{"model.layers.0.mlp.down.weight_shape", tensor.I64, []int64{2}, []byte{2, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0}})
	}
	groups := func(targets4, targets5 string) string {
		return `{"quantization_config":{"quant_method":"compressed-tensors","version":"0.20.0","config_groups":{
			"group_0":{"targets":[` + targets4 + `],"weights":{"num_bits":4}},"group_1":{"targets":[` + targets5 + `],"weights":{"num_bits":5}}}}}`
	}
	for _, tc := range []struct {
		what   string
		m      tensor.Model
		layout string // or what the error says
	}{
		{"a group by a pattern before one by a class", packed(groups(`"Linear"`, `"re:.*mlp.*"`)), "5 bits"},
		{"a group by a name before one by a pattern", packed(groups(`"model.layers.0.mlp.down"`, `"re:.*mlp.*"`)), "4 bits"},
		{"two groups by patterns", packed(groups(`"re:.*down"`, `"re:.*mlp.*"`)), "num_bits"},
		{"two groups by one class", packed(groups(`"Linear"`, `"Linear"`)), "num_bits"},
		{"a width of 33 bits", packed(strings.Replace(groups(`"Linear"`, `"Linear"`), `"num_bits":5`, `"num_bits":33`, 1)), "num_bits 33"},
		{"a width of no bits", packed(strings.Replace(groups(`"Linear"`, `"Linear"`), `"num_bits":5`, `"num_bits":0`, 1)), "num_bits 0"},
		{"words of several widths", model("", ints("m.weight_packed", tensor.I32, 2, 1), ints("m.weight_scale", tensor.BF16, 2, 1),
			stored{"m.weight_shape", tensor.I64, []int64{2}, []byte{2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}}), "several readings"},
		{"GPTQModel's overrides", gptqModel(`{"quantization_config":{"quant_method":"gptq","bits":8,"group_size":128,"dynamic":{
			"-:^lm_head":{},"+:.*\\.down":{"bits":4,"group_size":32}}}}`, "layers.0.down", 0x77777777), "4 bits, groups of 32"},
		{"GPTQModel's exclusion", gptqModel(gptqConfig("gptq", `,"dynamic":{"-:.*\\.down":{}}`), "layers.0.down", 0x77777777), "not quantized"},
		{"a width that the configuration denies", gptqModel(`{"quantization_config":{"quant_method":"gptq","bits":8}}`, "m", 0x77777777), "says 8 bits"},
		{"AutoRound's overrides", gptqModel(`{"quantization_config":{"quant_method":"auto-round","bits":2,"group_size":64,"extra_config":{
			"layers.0.down":{"bits":4,"group_size":32}}}}`, "layers.0.down", 0x77777777), "4 bits, groups of 32"},
		{"AutoRound's pattern", gptqModel(`{"quantization_config":{"quant_method":"auto-round","bits":2,"group_size":64,"extra_config":{
			".*down.*":{"bits":4,"group_size":32}}}}`, "layers.0.down", 0x77777777), "4 bits, groups of 32"},
		{"a pattern that costs too much", gptqModel(gptqConfig("gptq", `,"dynamic":{"+:(a{1000}){1000}":{}}`), "m", 0x77777777), "pattern"},
		{"MLX's entry", model(`{"quantization":{"bits":4,"group_size":64,"model.layers.0.down":{"bits":8,"group_size":32}}}`,
			ints("model.layers.0.down.weight", tensor.U32, 2, 16), ints("model.layers.0.down.scales", tensor.BF16, 2, 2),
			ints("model.layers.0.down.biases", tensor.BF16, 2, 2)), "affine, 8 bits, groups of 32"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			bound, _, err := plan(t, tc.m, quant.Options{})
			got := fmt.Sprint(err)
			if err == nil {
				got = bound.Weights[0].Layout
			}
			if !strings.Contains(got, tc.layout) {
				t.Errorf("got %q, want %q", got, tc.layout)
			}
		})
	}
}

func TestInputsThatAreMultipliedAreFoldedOrNamed(t *testing.T) {
	m := model(method("modelopt", ""),
		stored{"m.weight", tensor.U8, []int64{1, 2}, []byte{0x21, 0x43}}, stored{"m.weight_scale", tensor.F32, []int64{2, 1}, f32(1, 10)},
		stored{"m.pre_quant_scale", tensor.F32, []int64{2}, f32(2, 0.5)})
	_, _, err := plan(t, m, quant.Options{})
	if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "quant.Options.FoldPreQuant") {
		t.Error(err)
	}
	w, got := decoded(t, m, quant.Options{Target: quant.F32, FoldPreQuant: true})
	// Rows are packed in pairs, the even one in the low nibble: 1 3 and 2 4.
	if diff := cmp.Diff([]float32{1 * 2, 3 * 0.5, 20 * 2, 40 * 0.5}, floats(got)); diff != "" {
		t.Error(diff)
	}
	if len(w.Parts) != 3 {
		t.Errorf("%d parts", len(w.Parts))
	}
}
