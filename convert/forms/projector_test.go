package forms_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

func TestVisionPartsThatContradictAreRefused(t *testing.T) {
	for name, config := range map[string]string{
		"no vision part":   `{"architectures": ["LlavaForConditionalGeneration"]}`,
		"none is known":    `{"architectures": ["LlamaForCausalLM"], "vision_config": {}}`,
		"two models":       `{"architectures": ["LlavaForConditionalGeneration", "LlavaForConditionalGeneration"], "vision_config": {}}`,
		"CLIP":             `{"architectures": ["LlavaForConditionalGeneration"], "vision_config": {"model_type": "clip_vision_model"}}`,
		"patches of none":  `{"architectures": ["Gemma3ForConditionalGeneration"], "vision_config": {"patch_size": 0}}`,
		"endless images":   `{"architectures": ["Gemma3ForConditionalGeneration"], "vision_config": {"image_size": 9223372036854775807}}`,
		"a negative width": `{"architectures": ["Qwen2VLForConditionalGeneration"], "vision_config": {"embed_dim": -1}}`,
		"a ratio":          `{"architectures": ["Qwen2VLForConditionalGeneration"], "vision_config": {"mlp_ratio": 4611686018427387904}}`,
		"merged by none":   `{"architectures": ["Mistral3ForConditionalGeneration"], "spatial_merge_size": 0, "vision_config": {}}`,
		"no text width":    `{"architectures": ["Mistral3ForConditionalGeneration"], "text_config": {"hidden_size": -5}, "vision_config": {}}`,
		"no tensors":       `{"architectures": ["Qwen2_5_VLForConditionalGeneration"], "vision_config": {"depth": 2}}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := limits.Policy{}.Budget(t.Context())
			defer b.Close()
			_, err := forms.LlamaCPP{Projector: true}.Model(b, converttest.LlamaOfOneLayer(t, b, config, ""))
			if class := wire.ClassOf(err); class != wire.Malformed && class != wire.Unsupported {
				t.Errorf("%v, of the class %v", err, class)
			}
		})
	}
}

func TestLlavaWithoutVisionConfigIsRefusedByName(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	_, err := forms.LlamaCPP{}.Model(b, converttest.LlamaOfOneLayer(t, b, `{"architectures": ["LlavaForConditionalGeneration"], "text_config": {"model_type": "llama"}}`, ""))
	if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "LLaVA 1.5") {
		t.Errorf("%v", err)
	}
}
