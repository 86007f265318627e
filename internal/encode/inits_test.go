package encode_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// Some classes of transformers set the weight of every linear module when they load, without asking
// whether it has one. Packed codes have none, so loading fails, and Loads says so; in formats whose
// modules keep a weight it does not. A model inside another initializes only its own modules.
func TestPackedCodesOfClassesThatSetEveryWeight(t *testing.T) {
	for _, c := range []struct {
		name, config, module string
		fails                bool
	}{
		{"clap", `{"model_type": "clap", "architectures": ["ClapModel"]}`, "audio_projection.linear1", true},
		{"chmv2", `{"model_type": "chmv2", "architectures": ["CHMv2ForDepthEstimation"]}`, "backbone.layer.0.mlp.up_proj", true},
		{"bridgetower", `{"model_type": "bridgetower", "architectures": ["BridgeTowerModel"]}`, "cross_modal_image_layers.0.intermediate.dense", true},
		{"a vision part of such a class", `{"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "vision_config": {"model_type": "siglip_vision_model"}}`, "vision_tower.vision_model.head.mlp.fc1", true},
		{"an image part whose modules are in no table", `{"model_type": "emu3", "architectures": ["Emu3Model"], "text_config": {"model_type": "emu3_text_model"}, "vq_config": {"model_type": "emu3_vqgan"}}`, "vqmodel.encoder.middle_block.attn_1.q_proj", true},
		{"a class that asks first", `{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}`, "model.layers.0.mlp.up_proj", false},
		{"a type whose neighbour is such a class", `{"model_type": "apertus1p5_text", "architectures": ["Apertus1p5ForCausalLM"]}`, "model.layers.0.mlp.up_proj", false},
	} {
		for _, to := range []string{"w4a16", "nvfp4", "fp8_dynamic"} {
			b := converttest.Account(t)
			m := converttest.WithConfig(converttest.TypedModel(t, b, "", converttest.Shaped(map[string][2]int64{c.module: {128, 128}})), c.config)
			p, err := convert.NewPlan(b, m, convert.Options{Quantize: converttest.To(t, to)})
			if err != nil {
				t.Errorf("%s to %s: %v", c.name, to, err)
				continue
			}
			l := p.Quantized.Loads[0]
			said := l.Verdict == convert.LoadFails && strings.Contains(l.Why, "sets the weight of ")
			if want := c.fails && to != "fp8_dynamic"; said != want {
				t.Errorf("%s to %s: %+v", c.name, to, l)
			}
		}
	}
}

// Some classes of transformers convert inputs to the type of a linear module's weight: if the
// weight is codes, inputs become bytes. Such a module is not quantized, unless it is chosen by name
// or the format's modules state their original type.
func TestAModuleWhoseWeightTypeIsReadIsNotQuantized(t *testing.T) {
	for _, c := range []struct {
		config, module, to string
		kept               bool
	}{
		{`{"model_type": "colpali"}`, "embedding_proj_layer", "nf4", true},
		{`{"model_type": "colpali"}`, "embedding_proj_layer", "int8", true},
		{`{"model_type": "colpali"}`, "embedding_proj_layer", "w4a16", true},
		{`{"model_type": "colpali"}`, "embedding_proj_layer", "fp8", true},
		{`{"model_type": "colpali"}`, "embedding_proj_layer", "torchao_int8", false},
		{`{"model_type": "longt5"}`, "encoder.block.0.layer.1.DenseReluDense.wo", "nf4", true},
		{`{"model_type": "llama"}`, "model.layers.0.mlp.wo.up_proj", "nf4", false},
		{`{"model_type": "ernie4_5_vl_moe"}`, "vision_tower.patch_embed.proj", "nf4", true},
		{`{"model_type": "ernie4_5_vl_moe"}`, "vision_tower.blocks.0.attn.proj", "nf4", false},
	} {
		b := converttest.Account(t)
		other := strings.Replace(c.module, "layer", "other", 1) + ".q_proj"
		m := converttest.WithConfig(converttest.TypedModel(t, b, "", converttest.Shaped(map[string][2]int64{c.module: {128, 128}, other: {128, 128}})), c.config)
		var to convert.Quantizer = bnb.Layout{Type: map[string]bnb.Type{"nf4": bnb.NF4, "int8": bnb.INT8}[c.to]}
		if c.to != "nf4" && c.to != "int8" {
			to = converttest.To(t, c.to)
		}
		p, err := convert.NewPlan(b, m, convert.Options{Quantize: to})
		if err != nil && !c.kept {
			t.Errorf("%s of %s to %s: %v", c.module, c.config, c.to, err)
			continue
		}
		kept := err != nil && strings.Contains(err.Error(), "converts numbers to the type of its weight")
		if err == nil {
			for _, k := range p.Quantized.Kept {
				kept = kept || k.Name == c.module+".weight" && strings.Contains(k.Why, "converts numbers to the type of its weight")
			}
		}
		if kept != c.kept {
			t.Errorf("%s of %s to %s: %v, %v", c.module, c.config, c.to, kept, err)
		}
	}
}
