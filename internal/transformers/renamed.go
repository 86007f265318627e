package transformers

import "slices"

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

// Renames reports whether modules of a type have other names in memory than in checkpoints.
func Renames(modelType string) bool { return slices.Contains(renamed, modelType) }

// unnamed are suffixes, after "/", of matrices that are weights of linear modules without
// being called ".weight": transformers 5.23 renames them when it loads, and quantizes
// them.
var unnamed = map[string]string{"inkling2": ".weight_proj", "inkling2_text": ".weight_proj", "jev": "/weight"}

// Unnamed returns the suffix, after "/", of matrices of a type that become weights of linear
// modules under another name.
func Unnamed(modelType string) (suffix string, ok bool) {
	suffix, ok = unnamed[modelType]
	return suffix, ok
}
