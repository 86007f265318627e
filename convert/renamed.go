package convert

import (
	"slices"
	"strings"
)

// renamed are model types whose linear modules transformers 5.23 calls otherwise than their
// checkpoints do (conversion_mapping.py: the mappings of LLaVA, of CLIP's and ViT's encoders, and the
// types that share them). A folder of torchao says how each weight is stored under the module's
// name, which a checkpoint does not have. crosscheck/targets.py loads clip, gemma3, llava and vit.
var renamed = []string{
	"llava", "aria", "paligemma", "aya_vision", "got_ocr2", "gemma3", "internvl", "vipllava", "mistral3", "pp_chart2table", "llava_next", "llava_next_video", "llava_onevision",
	"clip", "clip_text_model", "clip_vision_model", "altclip", "chinese_clip", "clipseg", "metaclip_2", "mlcd", "siglip", "siglip2", "xclip",
	"vit", "audio-spectrogram-transformer", "beit", "deit", "ijepa", "vit_mae", "vit_msn", "vivit",
}

// renames notes that transformers would not find what torchao's metadata says of a weight.
func (e *linearEncoder) renames(format string) {
	if strings.HasPrefix(format, "torchao_") && slices.Contains(renamed, e.Type) {
		e.BreaksAgain = "it gives weights other names when it loads them, and looks for torchao's metadata under those"
	}
}
