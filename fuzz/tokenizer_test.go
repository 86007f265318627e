package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A tokenizer.json that is accepted encodes the probe text, or says why not, within
// the account.
var tokenizerTarget = fuzz.Target{
	Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
		text, err := strictjson.ReadAt(b, r, 0, size)
		if err != nil {
			return fuzz.Answer{}, wire.At("json", "", 0, err)
		}
		t, err := tokenizer.ParseJSON(b, tokenizer.FileName, text)
		if err != nil {
			return fuzz.Answer{}, err
		}
		digest, err := t.Digest(b)
		return fuzz.Text(fmt.Sprint(t.Type, t.Tokens, t.Merges, t.Added, digest)), wire.At(tokenizer.FileName, "", wire.NoOffset, err)
	},
}

const tinyBPE = `{"added_tokens": [{"id": 4, "content": "...", "special": true, "normalized": false, "lstrip": true, "rstrip": false, "single_word": false}],
 "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}, {"type": "Prepend", "prepend": "▁"}]},
 "pre_tokenizer": %s, "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}, {"Sequence": {"id": "A"}}], "special_tokens": {"x": {"id": "x", "ids": [1], "tokens": ["x"]}}},
 "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "unk_token": "a", "fuse_unk": true, "byte_fallback": true, "ignore_merges": true, "vocab": {"a": 0, "b": 1, "ab": 2, "3": 3}, "merges": ["a b"]}}`

const tinyPieces = `{"added_tokens": [{"id": 0, "content": "[UNK]", "special": true, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}], "normalizer": %s, "pre_tokenizer": {"type": "BertPreTokenizer"},
 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}, {"Sequence": {"id": "A"}}], "special_tokens": {"x": {"id": "x", "ids": [1], "tokens": ["x"]}}},
 "decoder": {"type": "WordPiece"}, "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9, "vocab": {"[UNK]": 0, "a": 1, "##b": 2, "33": 3, "##3": 4}}}`

func FuzzTokenizer(f *testing.F) {
	endAs(f, &tokenizerTarget, tokenizerFiles())
	for _, pre := range []string{
		"null", `{"type": "ByteLevel"}`, `{"type": "Split", "pattern": {"Regex": "(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated"}`,
		`{"type": "Split", "pattern": {"Regex": "(a*)*b|(x+x+)+y|[\\p{L}&&[^\\p{Han}]]?+\\d++"}, "behavior": "MergedWithNext", "invert": true}`,
		`{"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Metaspace", "replacement": "▁"}]}`,
		`{"type": "Whitespace"}`, `{"type": "Split", "pattern": {"String": "a.c"}, "behavior": "Removed"}`,
	} {
		f.Add(fmt.Appendf(nil, tinyBPE, pre))
	}
	for _, normalizer := range []string{`{"type": "BertNormalizer"}`, `{"type": "BertNormalizer", "clean_text": false, "strip_accents": true, "lowercase": false}`, `{"type": "StripAccents"}`} {
		f.Add(fmt.Appendf(nil, tinyPieces, normalizer))
	}
	f.Fuzz(func(t *testing.T, data []byte) { tokenizerTarget.Check(t, data) })
}

var spmTarget = fuzz.Target{
	Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
		text, err := strictjson.ReadAt(b, r, 0, size)
		if err != nil {
			return fuzz.Answer{}, wire.At(tokenizer.SPMName, "", 0, err)
		}
		m, err := tokenizer.ParseSPM(b, text)
		if err != nil {
			return fuzz.Answer{}, wire.At(tokenizer.SPMName, "", wire.NoOffset, err)
		}
		return fuzz.Text(fmt.Sprint(*m)), nil
	},
}

func FuzzSPM(f *testing.F) {
	endAs(f, &spmTarget, pieceModels())
	f.Add([]byte("\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02\x0a\x08\x0a\x01a\x15\x00\x00\x80\xbf\x12\x02\x18\x02"))
	f.Add([]byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("\x0a\x05\x0a\x03\xe2\x96\x81\x1a\x02\x08\x01"))
	f.Add(bytes.Repeat([]byte("`\x00"), 4000)) // fields that say nothing cost nothing
	f.Fuzz(func(t *testing.T, data []byte) { spmTarget.Check(t, data) })
}

// A vocabulary of tiktoken's or of Mistral's that is accepted gives its merges, or says
// why not, within the account.
var ranksTarget = fuzz.Target{
	Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
		text, err := strictjson.ReadAt(b, r, 0, size)
		if err != nil {
			return fuzz.Answer{}, wire.At(tokenizer.TiktokenName, "", 0, err)
		}
		if !strings.HasPrefix(text, "{") {
			t, err := tokenizer.ParseTiktoken(b, tokenizer.TiktokenName, text)
			if err != nil {
				return fuzz.Answer{}, err
			}
			merges, err := t.Merges(b)
			return fuzz.Text(fmt.Sprint(t.Tokens, merges)), wire.At(tokenizer.TiktokenName, "", wire.NoOffset, err)
		}
		t, err := tokenizer.ParseTekken(b, tokenizer.TekkenName, text)
		if err != nil {
			return fuzz.Answer{}, err
		}
		splits, err := t.Splits(b)
		return fuzz.Text(fmt.Sprint(len(t.Special), t.Tokens, splits)), wire.At(tokenizer.TekkenName, "", wire.NoOffset, err)
	},
}

func FuzzRanks(f *testing.F) {
	endAs(f, &ranksTarget, rankFiles())
	f.Add([]byte("YQ== 0\nYg== 1\nYWI= 2\n"))
	f.Add([]byte("YQ== 0\r\n\nYWE= 1\nYWFh 2"))
	for _, config := range []string{`"default_vocab_size": 3, "default_num_special_tokens": 1`, `"default_vocab_size": 2, "default_num_special_tokens": 0`, `"default_vocab_size": 65537, "default_num_special_tokens": 65536`} {
		f.Add([]byte(`{"config": {"version": "v3", ` + config + `}, "vocab": [{"rank": 0, "token_bytes": "AA==", "token_str": null}, {"rank": 1, "token_bytes": "AQ==", "token_str": "\u0001"}], "special_tokens": [{"rank": 0, "token_str": "<s>"}]}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) { ranksTarget.Check(t, data) })
}

// llamaTensors are the tensors of a model with one layer and a width of eight.
var llamaTensors = func() []byte {
	var head, body bytes.Buffer
	head.WriteString("{")
	for i, one := range [][2]string{
		{"model.embed_tokens.weight", "5,8"}, {"lm_head.weight", "5,8"}, {"model.norm.weight", "8"}, {"model.layers.0.input_layernorm.weight", "8"},
		{"model.layers.0.post_attention_layernorm.weight", "8"}, {"model.layers.0.self_attn.q_proj.weight", "8,8"}, {"model.layers.0.self_attn.k_proj.weight", "8,8"},
		{"model.layers.0.self_attn.v_proj.weight", "8,8"}, {"model.layers.0.self_attn.o_proj.weight", "8,8"}, {"model.layers.0.mlp.gate_proj.weight", "8,8"},
		{"model.layers.0.mlp.up_proj.weight", "8,8"}, {"model.layers.0.mlp.down_proj.weight", "8,8"},
	} {
		n := map[string]int{"8": 8, "5,8": 40, "8,8": 64}[one[1]] * 4
		if i > 0 {
			head.WriteString(",")
		}
		fmt.Fprintf(&head, `%q:{"dtype":"F32","shape":[%s],"data_offsets":[%d,%d]}`, one[0], one[1], body.Len(), body.Len()+n)
		body.Write(make([]byte, n))
	}
	head.WriteString("}")
	for head.Len()%8 != 0 {
		head.WriteByte(' ')
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(head.Len())), head.Bytes()...), body.Bytes()...)
}()

const tinyLlama = `{"architectures": ["LlamaForCausalLM"], "vocab_size": 5, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
 "num_attention_heads": 2, "num_key_value_heads": 2, "rope_parameters": %s, "eos_token_id": [1], "bos_token_id": 1}`

// A configuration that is accepted makes a GGUF file that reads back; any other is
// refused with its class.
var archTarget = fuzz.Target{
	Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
		text, err := strictjson.ReadAt(b, r, 0, size)
		if err != nil {
			return fuzz.Answer{}, wire.At("json", "", 0, err)
		}
		m, err := safetensors.Decode(b, bytes.NewReader(llamaTensors), int64(len(llamaTensors)))
		if err != nil {
			return fuzz.Answer{}, elsewhere(err)
		}
		m.Folder = fstest.MapFS{
			"config.json": {Data: []byte(text)}, "tokenizer.json": {Data: fmt.Appendf(nil, tinyBPE, "null")}, "tokenizer_config.json": {Data: []byte(text)},
		}
		to, err := forms.LlamaCPP{Name: "x", Pre: "default"}.Model(b, m)
		if err != nil {
			return fuzz.Answer{}, elsewhere(err)
		}
		p, err := convert.NewPlan(b, to, convert.Options{Sink: convert.GGUF{}})
		if err != nil {
			return fuzz.Answer{}, elsewhere(err)
		}
		keys := ""
		for k, v := range to.Meta() {
			keys += fmt.Sprint(k, v, "\n")
		}
		return fuzz.Text(fmt.Sprint(p.Size, keys)), nil
	},
}

// elsewhere drops the offset of an error in a file that is not the input: the weights, or
// the vocabulary.
func elsewhere(err error) error {
	if e, ok := errors.AsType[*wire.Error](err); ok && (e.Format == safetensors.Format || e.Format == "tokenizer.json") {
		at := *e
		at.Off = wire.NoOffset
		return &at
	}
	return err
}

func FuzzArch(f *testing.F) {
	for _, rope := range []string{
		"null", `{"rope_type": "default", "rope_theta": 10000.0}`, `{"type": "linear", "factor": 2}`,
		`{"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 8192, "rope_theta": 5e5}`,
		`{"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 32}`,
	} {
		f.Add(fmt.Appendf(nil, tinyLlama, rope))
	}
	// Of families whose sizes are sums and products of more members, and hostile ones.
	for _, one := range []string{
		`"architectures": ["JinaBertForMaskedLM"], "type_vocab_size": -1, "num_attention_heads": 2`,
		`"architectures": ["Qwen2VLForConditionalGeneration"], "num_attention_heads": 2, "vision_config": {"embed_dim": -9, "depth": 1e9}, "rope_scaling": {"type": "mrope", "mrope_section": [-1, 4294967296, 1, 1, 1]}`,
		`"architectures": ["Mistral3ForConditionalGeneration"], "text_config": {"architectures": [], "num_attention_heads": 2, "head_dim": -4}, "vision_config": 7`,
		`"architectures": ["LlavaForConditionalGeneration"], "text_config": {"architectures": ["LlamaForCausalLM", "LlamaForCausalLM"]}, "vision_config": {"patch_size": 0}`,
		`"architectures": ["Gemma3ForConditionalGeneration"], "vision_config": {"image_size": 9223372036854775807, "patch_size": 1}`,
		`"architectures": ["Llama4ForConditionalGeneration"], "moe_layers": [0, 0, -1], "intermediate_size_mlp": 4294967296, "vision_config": {}`,
		`"architectures": ["Qwen3NextForCausalLM"], "num_attention_heads": 1, "linear_num_key_heads": 1, "linear_num_value_heads": 4096, "linear_value_head_dim": -1, "layer_types": ["linear_attention"]`,
		`"architectures": ["Qwen3_5ForConditionalGeneration"], "num_attention_heads": 1, "text_config": {"linear_key_head_dim": 2147483648}, "vision_config": {}`,
		`"architectures": ["FalconH1ForCausalLM"], "num_attention_heads": 1, "mamba_d_ssm": 2147483648, "mamba_n_groups": 0, "mamba_n_heads": -1, "ssm_multipliers": [1, "2"]`,
		`"architectures": ["Lfm2ForCausalLM"], "num_attention_heads": 1, "block_ff_dim": 2147483648, "block_ffn_dim_multiplier": 1e308, "block_multiple_of": 0, "full_attn_idxs": [0, -1, 1e99]`,
		`"architectures": ["BloomForCausalLM"], "num_attention_heads": 65536, "seq_length": -1`,
		`"architectures": ["GPTNeoXForCausalLM"], "num_attention_heads": 65536, "num_key_value_heads": 3, "rotary_pct": "x"`,
		`"architectures": ["T5ForConditionalGeneration"], "d_model": 8, "d_kv": 4, "d_ff": -1, "num_heads": 2, "num_layers": 1, "num_decoder_layers": 2147483648, "decoder_start_token_id": 0, "relative_attention_num_buckets": 2147483648, "feed_forward_proj": "relu"`,
		`"architectures": ["UMT5ForConditionalGeneration"], "d_model": 8, "num_heads": 65536, "num_layers": 512, "num_decoder_layers": -512`,
		`"architectures": ["T5EncoderModel"], "d_model": 8, "d_kv": 4, "d_ff": 8, "num_heads": 2, "num_layers": 1, "n_positions": -1`,
		`"architectures": ["Gemma4ForCausalLM"], "num_attention_heads": 2, "layer_types": ["full_attention"], "global_head_dim": 1048576, "num_kv_shared_layers": 7, "per_layer_config": {"0": {"head_dim": -3}, "x": 1, "99999999999999999999": 2}, "rope_parameters": {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 1e-300}}`,
		`"architectures": ["Gemma4ForConditionalGeneration"], "num_attention_heads": 2, "attention_k_eq_v": true, "num_global_key_value_heads": 2147483648, "use_double_wide_mlp": true, "num_kv_shared_layers": 2147483648, "hidden_size_per_layer_input": 2147483648, "vision_config": {}`,
		`"architectures": ["GraniteMoeHybridForCausalLM"], "num_attention_heads": 1, "layer_types": ["mamba"], "mamba_expand": 2147483648, "mamba_n_groups": 0, "shared_intermediate_size": 1`,
		`"architectures": ["GraniteMoeHybridForCausalLM"], "num_attention_heads": 1, "layer_types": ["attention"], "num_experts_per_tok": 0, "num_local_experts": 0`,
		`"architectures": ["NemotronHForCausalLM"], "num_attention_heads": 1, "hybrid_override_pattern": "M", "mamba_num_heads": 2147483648, "mamba_head_dim": 2147483648, "n_groups": 3, "ssm_state_size": 2147483648`,
		`"architectures": ["NemotronHForCausalLM"], "num_attention_heads": 1, "hybrid_override_pattern": "E", "num_experts_per_tok": -1, "n_routed_experts": 4096`,
		`"architectures": ["Glm4MoeLiteForCausalLM"], "num_attention_heads": 1, "num_nextn_predict_layers": 2147483648, "first_k_dense_replace": 1, "kv_lora_rank": 1`,
		`"architectures": ["Qwen3VLForConditionalGeneration"], "num_attention_heads": 1, "vision_config": {"deepstack_visual_indexes": [-1, 1e99, "x"]}, "rope_parameters": {"mrope_section": [1, 2, 3, 4, 5]}`,
		`"architectures": ["Qwen3VLMoeForConditionalGeneration"], "num_attention_heads": 1, "num_experts": 4096, "moe_intermediate_size": 2147483648, "vision_config": {}`,
		`"architectures": ["Gemma3TextModel"], "num_attention_heads": 1, "sliding_window": -1`,
		`"architectures": ["BertForSequenceClassification"], "num_attention_heads": 1, "id2label": {"-1": "a", "007": "b", "7": "c", "x": "d"}`,
		`"architectures": ["DistilBertForSequenceClassification"], "n_heads": 1, "dim": 8, "hidden_dim": 8, "n_layers": 1, "num_labels": 9223372036854775807`,
		`"architectures": ["FalconForCausalLM"], "num_attention_heads": 2, "new_decoder_architecture": true, "num_kv_heads": 2147483648, "layer_norm_epsilon": 1e308`,
		`"architectures": ["MPTForCausalLM"], "d_model": 8, "n_heads": 2, "n_layers": 1, "attn_config": {"alibi": true, "alibi_bias_max": -1, "kv_n_heads": -9223372036854775808}`,
		`"architectures": ["MambaForCausalLM"], "expand": 2147483648, "state_size": 2147483648, "time_step_rank": "auto"`,
		`"architectures": ["Mamba2ForCausalLM"], "num_heads": 65536, "head_dim": 1048576, "n_groups": 2147483648, "state_size": 2147483648, "expand": 1024`,
		`"architectures": ["JambaForCausalLM"], "num_attention_heads": 1, "attn_layer_period": 1, "attn_layer_offset": 2147483648, "expert_layer_period": 0, "mamba_dt_rank": -1`,
		`"architectures": ["InternLM2ForCausalLM"], "num_attention_heads": 65536, "num_key_value_heads": 3, "rope_scaling": {"type": "dynamic", "factor": -1}`,
		`"architectures": ["MiniCPMForCausalLM"], "num_attention_heads": 1, "dim_model_base": 1e-320, "scale_depth": 1e308, "rope_scaling": {"rope_type": "longrope", "long_factor": [], "short_factor": [1e99]}`,
		`"architectures": ["BailingMoeV2ForCausalLM"], "num_attention_heads": 1, "num_experts": 4096, "num_shared_experts": 2147483648, "first_k_dense_replace": 2147483648, "moe_intermediate_size": 2147483648`,
		`"architectures": ["ChatGLMModel"], "num_attention_heads": 2, "num_layers": 1, "multi_query_attention": true, "multi_query_group_num": 0, "ffn_hidden_size": 2147483648, "rope_ratio": 1e308`,
		`"architectures": ["GptOssForCausalLM"], "num_local_experts": 4096, "num_attention_heads": 65536, "head_dim": 1048576`,
	} {
		f.Add([]byte(`{"vocab_size": 5, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, ` + one + `}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) { archTarget.Check(t, data) })
}

// A GGUF file that is accepted becomes a folder whose files read back, and which is
// planned the same way whatever pieces the reader gives; any other is refused.
var backTarget = fuzz.Target{
	Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
		f, err := gguf.Decode(b, r, size)
		if err != nil {
			return fuzz.Answer{}, err
		}
		m, err := forms.Transformers{Target: quant.BF16}.Model(b, f)
		if err != nil {
			return fuzz.Answer{}, err
		}
		p, err := convert.NewPlan(b, m, convert.Options{})
		if err != nil {
			return fuzz.Answer{}, err
		}
		text, err := fs.ReadFile(m.Configs(), "config.json")
		return fuzz.Text(fmt.Sprint(p.Size, string(text))), err
	},
}

func FuzzBack(f *testing.F) {
	b := limits.Policy{}.Budget(f.Context())
	defer b.Close()
	m, err := safetensors.Decode(b, bytes.NewReader(llamaTensors), int64(len(llamaTensors)))
	if err != nil {
		f.Fatal(err)
	}
	m.Folder = fstest.MapFS{
		"config.json": {Data: fmt.Appendf(nil, tinyLlama, "null")}, "tokenizer.json": {Data: fmt.Appendf(nil, tinyBPE, "null")},
	}
	to, err := forms.LlamaCPP{Name: "x", Pre: "gpt-2"}.Model(b, m)
	if err != nil {
		f.Fatal(err)
	}
	p, err := convert.NewPlan(b, to, convert.Options{Sink: convert.GGUF{}})
	if err != nil {
		f.Fatal(err)
	}
	path := f.TempDir() + "/seed.gguf"
	if _, err := p.Write(path, false); err != nil {
		f.Fatal(err)
	}
	seed, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) { backTarget.Check(t, data) })
}
