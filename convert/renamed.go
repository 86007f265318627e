package convert

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// renamed are model types whose linear modules have other names in transformers 5.23 than
// in checkpoints (conversion_mapping.py: the mappings of LLaVA, of the encoders of CLIP
// and ViT, and the types that share them). A torchao folder describes each weight under
// the module's name, which a checkpoint does not have. crosscheck/targets.py loads clip,
// gemma3, llava and vit.
var renamed = []string{
	"llava", "aria", "paligemma", "aya_vision", "got_ocr2", "gemma3", "internvl", "vipllava", "mistral3", "pp_chart2table", "llava_next", "llava_next_video", "llava_onevision",
	"clip", "clip_text_model", "clip_vision_model", "altclip", "chinese_clip", "clipseg", "metaclip_2", "mlcd", "siglip", "siglip2", "xclip",
	"vit", "audio-spectrogram-transformer", "beit", "deit", "ijepa", "vit_mae", "vit_msn", "vivit",
}

// renames notes that transformers would not find torchao's descriptions of weights.
func (e *linearEncoder) renames(format string) {
	if strings.HasPrefix(format, "torchao_") && slices.Contains(renamed, e.Type) {
		e.BreaksAgain = "it gives weights other names when it loads them, and looks for torchao's metadata under those"
	}
}

// unnamed are suffixes, after "/", of matrices that are weights of linear modules without
// being called ".weight": transformers 5.23 renames them when it loads, and quantizes
// them.
var unnamed = map[string]string{"inkling2": ".weight_proj", "inkling2_text": ".weight_proj", "jev": "/weight"}

// nameless refuses a model with such a matrix, whose numbers transformers would take for
// codes.
func (e *linearEncoder) nameless() error {
	end, ok := unnamed[e.Type]
	if !ok {
		return nil
	}
	for i := range e.m.Tensors() {
		if err := e.b.Step(1); err != nil {
			return err
		}
		if len(i.Shape) == 2 && strings.HasSuffix("/"+i.Name, end) {
			return wire.ErrUnsupported.Errorf("%s of a model of type %s: transformers loads it as the weight of a linear module, and would take its numbers for codes", wire.Quote(i.Name), wire.Quote(e.Type))
		}
	}
	return nil
}
