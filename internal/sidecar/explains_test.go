package sidecar_test

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Members of published configurations are explained; a value in the place of a layer's name that is
// not one is not.
func TestNamesOfLayersAreExplained(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"config.json", `{"quantization_config": {"llm_int8_skip_modules": ["lm_head", "model.layers.1.mlp", "model.vision_tower"]}}`, ""},
		{"config.json", `{"quantization_config": {"modules_in_block_to_quantize": [["self_attn.k_proj"]], "block_name_to_quantize": "model.layers", "dataset": "a/b"}}`, ""},
		{"config.json", `{"quantization_config": {"exclude": ["model.layers.0.mlp.gate"], "config_groups": {"a": {"targets": ["re:.*q_proj", "model.layers.0.self_attn.q_proj"]}}}}`, ""},
		{"config.json", `{"quantization_config": {"dataset": "https://example.org/x"}}`, "sidecar.unexplained"},
		{"config.json", `{"quantization_config": {"dataset": "gAVLAC4AAAAA"}}`, "sidecar.unexplained"},
		{"adapter_config.json", `{"target_parameters": ["mlp.experts.down_proj"], "exclude_modules": "model.vision_tower.*", "layers_pattern": "model.layers", "target_modules": "^(?!.*visual).*(q_proj|v_proj).*"}`, ""},
		{"adapter_config.json", `{"exclude_modules": "evil.Module"}`, "sidecar.unexplained"},
		{"adapter_config.json", `{"import_modules": ["evil.mod"]}`, "sidecar.unexplained"},
		{"config.json", `{"pretrained_cfg": {"url": "https://example.org/resnet50.pth", "hf_hub_id": "timm/a.b", "first_conv": "patch_embed.proj", "classifier": "head.fc"}}`, ""},
		{"config.json", `{"url": "https://example.org/resnet50.pth"}`, "sidecar.unexplained"},
		{"config.json", `{"labels": ["rock/pop"], "version": "v1.2.dev", "train_dataset": "a/b", "homepage": "https://example.org/"}`, "sidecar.unexplained"},
		{"model.json5.yaml", "labels: rock/pop\ntrain_dataset: a/b\nhomepage: https://example.org/\n", "sidecar.unexplained"},
		{"config.json", `{"homepage": "file:///etc"}`, "sidecar.unexplained"},
		{"generation_config.json", `{"stop_strings": ["&&", "a/b"]}`, ""},
		{"config.json", `{"_name_or_path": "a/b"}`, ""},
		{"config.json", `{"detector": {"_name_or_path": "/a/b/c"}}`, ""},
		{"config.json", `{"detector": {"name_or_path": "a/b"}}`, "sidecar.unexplained"},
		{"config.json", `{"vision_encoder": "vit_so400m_patch14_siglip_384.webli", "args": {"cmvn_file": "am.mvn"}}`, ""},
		{"config.json", `{"args": {"cmvn_file": "x/am.mvn"}}`, "sidecar.unexplained"},
		{"config.json", `{"quantization_config": {"meta": {"uri": "https://github.com/ModelCloud/GPTQModel"}}}`, ""},
		{"quantize_config.json", `{"meta": {"uri": "https://github.com/modelcloud/gptqmodel"}}`, ""},
		{"quantize_config.json", `{"meta": {"uri": "https://example.org/x"}}`, "sidecar.unexplained"},
		{"config.json", `{"meta": {"uri": "https://example.org/x"}}`, "sidecar.unexplained"},
		{"config.json", `{"backbone": "resnet_50.a1_in1k"}`, ""},
		{"config.json", `{"backbone": "a/b"}`, "sidecar.unexplained"},
		{"config.json", `{"architecture": "subprocess.run"}`, "sidecar.import"},
		{"config.json", `{"invented": "evil.layers.Class"}`, "sidecar.unexplained"},
		{"config.json", `{"invented": "model.layers.3"}`, ""}, // what ends with a number is no name
		{"config.json", `{"invented": "model.layers.3.mlp"}`, "sidecar.unexplained"},
		{"config.json", `{"evil_modules": ["evil.mod"], "model_path": "evil"}`, "sidecar.unexplained"},
		{"config.json", `{"num_hidden_layers": "evil.layers"}`, "sidecar.unexplained"},
		{"config.json", `{"quantization_config": {"tokenizer": "a/b"}}`, "sidecar.unexplained"},
		{"config.json", `{"quantization_config": {"modules_to_not_convert": {"x": "a.b"}}}`, "sidecar.unexplained"},
		{"config.json", `{"modules_to_not_convert": ["a.b"]}`, "sidecar.unexplained"},
		{"config.json", `{"base_model_name_or_path": "a/b"}`, "sidecar.unexplained"},
		{"config.json", `{"model_path": "a/b"}`, "sidecar.unexplained"},
		{"config.json", `{"weights": "a/b"}`, "sidecar.unexplained"},
		{"config.json", `{"bos_token": "a/b"}`, "sidecar.unexplained"},
		{"adapter_config.json", `{"base_model_name_or_path": "a/b", "data": "data/", "lora_parameters": {"keys": ["self_attn.q_proj"]}}`, ""},
		{"adapter_config.json", `{"keys": ["self_attn.q_proj"]}`, "sidecar.unexplained"},
		{"tokenizer_config.json", `{"eos_token": {"x": "a/b"}}`, "sidecar.unexplained"},
		{"tokenizer_config.json", `{"eos_token": "a/b", "extra_special_tokens": {"x": "a/b"}}`, ""},
		{"config.json", `{"quantization_config": {"quant_type": {"default": {"_data": {"layout": {"_type": "PlainLayout"}, "dtype": {"_type": "torch.dtype", "_data": "int8"}}}}}}`, ""},
		{"settings.yaml", "invented: model.layers.3.mlp\nb: evil.mod\n", "sidecar.unexplained"},
		{"settings.yaml", "invented: model.layers.3.mlp\nlicense: a/b\n", "sidecar.unexplained"},
		{"settings.yaml", "invented: 3\nlicense: a/b\n", "sidecar.unexplained"},
		{"settings.yaml", "invented: 3\n", "sidecar.unexplained"},
		{"hparams.yaml", "invented: 3\nlicense: a/b\n", ""},
	} {
		if got := check(t, limits.Policy{}, c.name, c.text); got != c.want {
			t.Errorf("%s %.80s: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

// Files that PEFT, diffusers and quantizers write have no finding.
func TestExpressionsOfConfigurationsAreAccepted(t *testing.T) {
	for name, text := range map[string]string{
		"adapter_config.json":   `{"peft_type": "LORA", "r": 8, "target_modules": ".*\\.(q|v)_proj$", "exclude_modules": "^(?!.*lm_head).*", "rank_pattern": {"layers\\.\\d+\\.q_proj": 4}}`,
		"config.json":           `{"model_type": "llama", "quantization_config": {"quant_method": "compressed-tensors", "ignore": ["re:.*lm_head", "re:model\\.layers\\.\\d+\\.mlp\\..*"]}}`,
		"quantize_config.json":  `{"bits": 4, "dynamic": {"-:.*\\.(?:gate|up)_proj.*": {}, "+:.*\\.18\\..*down.*": {"bits": 8}}}`,
		"hf_quant_config.json":  `{"quantization": {"exclude_modules": ["lm_head", "*.mlp.gate", "model.layers.*.self_attn*"]}}`,
		"attribute/config.json": `{"model_type": "llama", "quantization_config": {"modules_to_not_convert": ["lm_head"]}}`,
	} {
		if got := check(t, limits.Policy{}, name, text); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Published tokenizers have no finding.
func TestStepsOfTokenizersAreAccepted(t *testing.T) {
	table := base64.StdEncoding.EncodeToString(append(binary.LittleEndian.AppendUint32(nil, 1024), make([]byte, 1025)...))
	for _, text := range []string{
		`{"padding": {"strategy": {"Fixed": 512}, "pad_to_multiple_of": 8}, "truncation": {"max_length": 512}}`,
		`{"normalizer": {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": "` + table + `"}, {"type": "Strip"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]}}`,
		`{"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
		  "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}}`,
		`{"normalizer": {"type": "Sequence", "normalizers": [` + strings.TrimSuffix(digitsApart(), ",") + `]}}`,
		`{"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}"}}, {"type": "Split", "pattern": {"Regex": " ?[^(\\s|[.,!?…。，、।۔،])]+"}}, {"type": "ByteLevel"}]}}`,
	} {
		if got := check(t, limits.Policy{}, "tokenizer.json", text); got != "" {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// digitsApart are steps that put blanks around each digit.
func digitsApart() (out string) {
	for _, c := range "0123456789" {
		out += `{"type": "Replace", "pattern": {"String": "` + string(c) + `"}, "content": "  ` + string(c) + `  "},`
	}
	return out
}
