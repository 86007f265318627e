package lora_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

func whole(name string, seed int, shape ...int64) fixtures.Tensor {
	return fixtures.Whole(name, "F32", seed, shape...)
}

// as is the same tensor under another name.
func as(t fixtures.Tensor, name string) fixtures.Tensor { t.Name = name; return t }

const (
	inputRows  = "base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta"
	outputRows = "base_model.model.lm_head.token_adapter.trainable_tokens_delta"
	inputName  = "base_model.model.model.embed_tokens.weight"
	outputName = "base_model.model.lm_head.weight"
	untied     = `{"vocab_size":6,"x":1,"tie_word_embeddings":false}`
	tied       = `{"vocab_size":6,"x":1,"tie_word_embeddings":true}`
)

// vocabularyBase has six tokens, and an output layer unless it is tied.
func vocabularyBase(config string) folder {
	f := folder{config, []fixtures.Tensor{whole("model.embed_tokens.weight", 3, 6, 4), whole("model.l.weight", 4, 5, 4)}}
	if config == untied {
		f.tensors = append(f.tensors, whole("lm_head.weight", 5, 6, 4))
	}
	return f
}

// An adapter that was trained after resize_token_embeddings brings rows of another number: the
// result has them, and vocab_size follows.
func TestVocabularyOfTheAdapter(t *testing.T) {
	in, out := whole(inputName, 7, 8, 4), whole(outputName, 8, 8, 4)
	lora := pair("model.embed_tokens", 2, 4, 8)
	for i, ending := range []string{"A", "B"} {
		lora[i].Name = "base_model.model.model.embed_tokens.lora_embedding_" + ending
	}
	for _, c := range []struct {
		name, base, adapter string
		tensors             []fixtures.Tensor
		adapted             int
	}{
		{"saved with the adapter", untied, `{"peft_type":"LORA","r":2}`, []fixtures.Tensor{in, out}, 0},
		{"in modules_to_save, with PEFT's further copies", untied, `{"peft_type":"LORA","r":2,"modules_to_save":["embed_tokens","lm_head"]}`, []fixtures.Tensor{in, out,
			as(in, "base_model.model.model.embed_tokens.modules_to_save.weight"), whole("base_model.model.model.embed_tokens.original_module.weight", 11, 8, 4)}, 0},
		{"tied", tied, `{"peft_type":"LORA","r":2}`, []fixtures.Tensor{in, as(in, outputName)}, 0},
		{"tied, and saved as the output layer", tied, `{"peft_type":"LORA","r":2}`, []fixtures.Tensor{as(in, outputName)}, 0},
		{"tied and saved once", tied, `{"peft_type":"LORA","r":2}`, []fixtures.Tensor{in}, 0},
		{"tied in modules_to_save", tied, `{"peft_type":"LORA","r":2,"modules_to_save":["embed_tokens"],"ensure_weight_tying":true}`, []fixtures.Tensor{in, as(in, outputName)}, 0},
		{"adapted besides", tied, `{"peft_type":"LORA","r":2,"lora_alpha":2}`, append(lora, as(in, "base_model.model.model.embed_tokens.base_layer.weight")), 1},
		{"in a text_config", `{"text_config":{"vocab_size":6},"vocab_size":1,"tie_word_embeddings":true}`, `{"peft_type":"LORA","r":2}`, []fixtures.Tensor{in}, 0},
		{"that the decoder shares, as Marian's", `{"decoder_vocab_size":6,"vocab_size":6,"tie_word_embeddings":true}`, `{"peft_type":"LORA","r":2}`, []fixtures.Tensor{in}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _, err := merge(t, vocabularyBase(c.base), folder{c.adapter, c.tensors})
			if err != nil {
				t.Fatal(err)
			}
			got := numbers(t, m, "model.embed_tokens.weight")
			if len(got) != 32 || c.adapted == 0 && !cmp.Equal(in.Values, got) || m.Adapted != c.adapted || m.Vocabulary != 8 {
				t.Errorf("%v, %d adapted, a vocabulary of %d", got, m.Adapted, m.Vocabulary)
			}
			if c.base == untied {
				if diff := cmp.Diff(out.Values, numbers(t, m, "lm_head.weight")); diff != "" {
					t.Errorf("want -, got +:\n%s", diff)
				}
			}
			text, err := fs.ReadFile(m.Configs(), "config.json")
			if want := strings.ReplaceAll(c.base, `vocab_size":6`, `vocab_size":8`); string(text) != want || err != nil {
				t.Errorf("config.json is %s (%v), want %s", text, err, want)
			}
		})
	}
}

// Rows of tokens that were trained one by one replace those of the base, whatever range is read.
func TestTrainedTokensReplaceRows(t *testing.T) {
	rows, other := whole(inputRows, 7, 3, 4), whole(outputRows, 9, 2, 4)
	for _, c := range []struct {
		name, base, adapter string
		tensors             []fixtures.Tensor
		input, output       []int // tokens
	}{
		{"a list", untied, `[5,0,3]`, []fixtures.Tensor{rows}, []int{5, 0, 3}, nil},
		{"tied", tied, `[5,0,3]`, []fixtures.Tensor{rows}, []int{5, 0, 3}, nil},
		{"two modules", untied, `{"embed_tokens":[5,0,3],"lm_head":[1,2]}`, []fixtures.Tensor{rows, other}, []int{5, 0, 3}, []int{1, 2}},
		{"two tied modules", tied, `{"embed_tokens":[5,0,3],"lm_head":[5,0,3]}`, []fixtures.Tensor{rows}, []int{5, 0, 3}, nil},
		{"two copies", tied, `[5,0,3]`, []fixtures.Tensor{rows, as(rows, outputRows)}, []int{5, 0, 3}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := vocabularyBase(c.base)
			m, _, err := merge(t, base, folder{`{"peft_type":"LORA","r":2,"trainable_token_indices":` + c.adapter + `}`, c.tensors})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range []struct {
				in     fixtures.Tensor
				tokens []int
				rows   fixtures.Tensor
			}{{base.tensors[0], c.input, rows}, {base.tensors[len(base.tensors)-1], c.output, other}} {
				want := append([]float32(nil), one.in.Values...)
				for k, token := range one.tokens {
					copy(want[4*token:4*token+4], one.rows.Values[4*k:])
				}
				if diff := cmp.Diff(want, numbers(t, m, one.in.Name)); diff != "" {
					t.Errorf("%s: want -, got +:\n%s", one.in.Name, diff)
				}
			}
		})
	}
}

// What PEFT does not do, or fills with random numbers, is refused.
func TestVocabulariesThatAreRefused(t *testing.T) {
	in, rows := whole(inputName, 7, 8, 4), whole(inputRows, 7, 3, 4)
	for _, c := range []struct {
		name, base, adapter string
		tensors             []fixtures.Tensor
		class               wire.Class
		says                string
	}{
		{"no rows for the output layer", untied, `{"peft_type":"LORA"}`, []fixtures.Tensor{in}, wire.Malformed, "resize_token_embeddings"},
		{"two sizes", untied, `{"peft_type":"LORA"}`, []fixtures.Tensor{in, whole(outputName, 8, 9, 4)}, wire.Malformed, "rows instead of"},
		{"other columns", untied, `{"peft_type":"LORA"}`, []fixtures.Tensor{whole(inputName, 8, 8, 5)}, wire.Malformed, "[8 5]"},
		{"a tied copy that differs", tied, `{"peft_type":"LORA"}`, []fixtures.Tensor{in, whole(outputName, 8, 8, 4)}, wire.Malformed, "copy"},
		{"one of two tied modules, of another size", tied, `{"peft_type":"LORA","modules_to_save":["embed_tokens"]}`, []fixtures.Tensor{in}, wire.Malformed, "no rows for"},
		{"one of three tied modules", `{"model_type":"t5","vocab_size":6,"tie_word_embeddings":true}`, `{"peft_type":"LORA","modules_to_save":["lm_head"]}`, []fixtures.Tensor{whole(outputName, 8, 6, 4)}, wire.Unsupported, "encoder.embed_tokens"},
		{"one adapter of two tied modules", tied, `{"peft_type":"LORA","r":2,"target_modules":["embed_tokens"],"ensure_weight_tying":true}`, pair("lm_head", 2, 6, 4), wire.Unsupported, "twice"},
		{"numbers for each token that the adapter does not have", untied, `{"peft_type":"LORA","r":2}`, []fixtures.Tensor{in, whole(outputName, 8, 8, 4)}, wire.Malformed, "final_logits_bias"},
		{"a head of two embeddings", `{"model_type":"gpt2","x":2}`, `{"peft_type":"LORA","r":2}`, pair("lm_head", 2, 6, 4), wire.Unsupported, "two matrices"},
		{"a head whose embedding is not there", `{"model_type":"gpt2"}`, `{"peft_type":"LORA","r":2}`, pair("lm_head", 2, 6, 4), wire.Malformed, "wte.weight"},
		{"a vocabulary beside that of the decoder", `{"vocab_size":6,"decoder_vocab_size":6,"share_encoder_decoder_embeddings":false,"tie_word_embeddings":true}`, `{"peft_type":"LORA"}`, []fixtures.Tensor{in}, wire.Unsupported, "the encoder and the decoder"},
		{"a vocabulary that the configuration does not have", `{"vocab_size":5,"tie_word_embeddings":true}`, `{"peft_type":"LORA"}`, []fixtures.Tensor{in}, wire.Malformed, "vocab_size"},
		{"a token beyond the embedding", tied, `{"peft_type":"LORA","trainable_token_indices":[1,6,2]}`, []fixtures.Tensor{rows}, wire.Malformed, "token 6"},
		{"a token twice", tied, `{"peft_type":"LORA","trainable_token_indices":[1,2,1]}`, []fixtures.Tensor{rows}, wire.Malformed, "token 1"},
		{"a token from the end", tied, `{"peft_type":"LORA","trainable_token_indices":[1,-1,2]}`, []fixtures.Tensor{rows}, wire.Malformed, "at least 0"},
		{"no list", tied, `{"peft_type":"LORA","trainable_token_indices":true}`, []fixtures.Tensor{rows}, wire.Malformed, "list"},
		{"too few rows", tied, `{"peft_type":"LORA","trainable_token_indices":[1,2]}`, []fixtures.Tensor{rows}, wire.Malformed, "[3 4]"},
		{"no rows", tied, `{"peft_type":"LORA","r":2,"trainable_token_indices":[1,2]}`, pair("model.l", 2, 5, 4), wire.Malformed, "no rows"},
		{"rows that nothing names", tied, `{"peft_type":"LORA","trainable_token_indices":{"x":[1,2,3]}}`, []fixtures.Tensor{rows}, wire.Malformed, "does not name"},
		{"other rows of a tied output layer", tied, `{"peft_type":"LORA","trainable_token_indices":{"embed_tokens":[1,2,3],"lm_head":[1,2,4]}}`, []fixtures.Tensor{rows, as(rows, outputRows)}, wire.Unsupported, "ties"},
		{"rows of a tied output layer that differ", tied, `{"peft_type":"LORA","trainable_token_indices":[1,2,3]}`, []fixtures.Tensor{rows, whole(outputRows, 9, 3, 4)}, wire.Malformed, "copy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := vocabularyBase(c.base)
			switch c.says {
			case "final_logits_bias":
				base.tensors = append(base.tensors, whole("final_logits_bias", 9, 1, 6))
			case "two matrices":
				base.tensors = append(base.tensors, whole("a.wte.weight", 9, 6, 4), whole("b.wte.weight", 9, 6, 4))
			}
			m, _, err := merge(t, base, folder{c.adapter, c.tensors})
			if err == nil {
				err = readAll(m)
			}
			if wire.ClassOf(err) != c.class || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v: %v, want %v that says %q", wire.ClassOf(err), err, c.class, c.says)
			}
		})
	}
}

// A base that is mended as the refusal says is merged.
func TestTheAdviceAboutABaseWorks(t *testing.T) {
	in, out, bias := whole(inputName, 7, 8, 4), whole(outputName, 8, 8, 4), whole("final_logits_bias", 9, 1, 8)
	const apart, resized = `{"vocab_size":6,"decoder_vocab_size":6,"share_encoder_decoder_embeddings":false,"tie_word_embeddings":true}`, "give the base that was resized before training, saved after resize_token_embeddings"
	eight := func(config string, more ...fixtures.Tensor) folder {
		f := vocabularyBase(strings.ReplaceAll(config, `vocab_size":6`, `vocab_size":8`))
		f.tensors[0] = whole("model.embed_tokens.weight", 3, 8, 4)
		f.tensors = append(f.tensors, more...)
		return f
	}
	small := vocabularyBase(untied)
	small.tensors = append(small.tensors, whole("final_logits_bias", 9, 1, 6))
	coded := vocabularyBase(untied)
	coded.tensors[1] = fixtures.Whole("model.l.weight", "I32", 4, 5, 4)
	for _, c := range []struct {
		name, says   string
		base, mended folder
		tensors      []fixtures.Tensor
	}{
		{"no rows for the output layer", resized, vocabularyBase(untied), eight(untied, whole("lm_head.weight", 5, 8, 4)), []fixtures.Tensor{in}},
		{"no numbers for each token", resized, small, eight(untied, whole("lm_head.weight", 5, 8, 4), bias), []fixtures.Tensor{in, out}},
		{"a vocabulary beside that of the decoder", resized, vocabularyBase(apart), eight(apart), []fixtures.Tensor{in}},
		{"codes", "so decode the base first", coded, vocabularyBase(untied), pair("model.l", 2, 5, 4)},
	} {
		adapter := folder{`{"peft_type":"LORA","r":2}`, c.tensors}
		if _, _, err := merge(t, c.base, adapter); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, and not %q", c.name, err, c.says)
		}
		m, _, err := merge(t, c.mended, adapter)
		if err == nil {
			err = readAll(m)
		}
		if err != nil {
			t.Errorf("%s: mended: %v", c.name, err)
		}
	}
}

// The prefix of the submodule does not apply to the output layer, which is outside of it: an output
// layer that a tied base stores is found, and so is an adapted one.
func TestTheOutputLayerHasNoPrefix(t *testing.T) {
	inner := as(whole(inputName, 7, 6, 4), "base_model.model.embed_tokens.weight")
	base := vocabularyBase(tied)
	base.tensors = append(base.tensors, whole("lm_head.weight", 5, 6, 4))
	_, _, err := merge(t, base, folder{`{"peft_type":"LORA","r":2}`, []fixtures.Tensor{inner}})
	if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "lm_head.weight") {
		t.Errorf("a tied base that stores its output layer: %v", err)
	}
	m, _, err := merge(t, vocabularyBase(untied), folder{`{"peft_type":"LORA","r":2,"lora_alpha":2}`, append(pair("l", 2, 5, 4), pair("lm_head", 2, 6, 4)...)})
	if err != nil || m.Adapted != 2 {
		t.Fatalf("%v", err)
	}
}

// Of two modules that have one matrix an adapter may have either: PEFT's merge changes both, and
// where it saves one whole, the other keeps what it had, and the configuration says so.
func TestTiedModules(t *testing.T) {
	head, input := whole(outputName, 8, 6, 4), whole(inputName, 9, 6, 4)
	for _, c := range []struct {
		name, adapter string
		tensors       []fixtures.Tensor
		tied          bool
		head, input   *fixtures.Tensor // nil for the base's
	}{
		{"the output layer is adapted", `"r":2`, pair("lm_head", 2, 6, 4), true, nil, nil},
		{"the output layer is saved", `"modules_to_save":["lm_head"]`, []fixtures.Tensor{head}, false, &head, nil},
		{"the input is saved", `"modules_to_save":["embed_tokens"]`, []fixtures.Tensor{input}, false, nil, &input},
		{"both are saved", `"modules_to_save":["embed_tokens","lm_head"]`, []fixtures.Tensor{input, head}, false, &head, &input},
		{"the input is saved alone, though the ties were to be kept", `"modules_to_save":["embed_tokens"],"ensure_weight_tying":true`, []fixtures.Tensor{input}, false, nil, &input},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := vocabularyBase(tied)
			m, _, err := merge(t, base, folder{`{"peft_type":"LORA",` + c.adapter + `}`, c.tensors})
			if err != nil {
				t.Fatal(err)
			}
			text, err := fs.ReadFile(m.Configs(), "config.json")
			if m.Tied != c.tied || m.Untied == c.tied || strings.Contains(string(text), `"tie_word_embeddings":true`) != c.tied || err != nil {
				t.Errorf("tied %v, untied %v, config.json is %s (%v)", m.Tied, m.Untied, text, err)
			}
			was, got := base.tensors[0].Values, numbers(t, m, "model.embed_tokens.weight")
			if c.tied {
				if m.Adapted != 1 || m.Len() != 2 || cmp.Equal(was, got) {
					t.Errorf("%d adapted of %d, %v", m.Adapted, m.Len(), got)
				}
				return
			}
			for _, one := range []struct {
				name string
				is   *fixtures.Tensor
			}{{"lm_head.weight", c.head}, {"model.embed_tokens.weight", c.input}} {
				want := was
				if one.is != nil {
					want = one.is.Values
				}
				if diff := cmp.Diff(want, numbers(t, m, one.name)); diff != "" {
					t.Errorf("%s: want -, got +:\n%s", one.name, diff)
				}
			}
			if diff := cmp.Diff([]string{"lm_head.weight"}, m.Added); diff != "" {
				t.Errorf("added: want -, got +:\n%s", diff)
			}
		})
	}
}

// Both of two tied modules may be adapted, and PEFT adds both to the one matrix.
func TestBothTiedModulesAreAdapted(t *testing.T) {
	lora := append(pair("model.embed_tokens", 2, 4, 6), pair("lm_head", 2, 6, 4)...)
	for i, ending := range []string{"A", "B"} {
		lora[i].Name = "base_model.model.model.embed_tokens.lora_embedding_" + ending
	}
	base := vocabularyBase(tied)
	m, _, err := merge(t, base, folder{`{"peft_type":"LORA","r":2,"lora_alpha":2}`, lora})
	if err != nil || m.Adapted != 1 || !m.Tied {
		t.Fatalf("%+v, %v", m, err)
	}
	got := numbers(t, m, "model.embed_tokens.weight")
	for k := range got {
		row, col := int64(k)/4, int64(k)%4
		want := base.tensors[0].Values[k]
		for r := range int64(2) {
			want += at(lora[0], r, row)*at(lora[1], col, r) + at(lora[2], r, col)*at(lora[3], row, r)
		}
		if got[k] != want {
			t.Fatalf("[%d %d] is %v, want %v", row, col, got[k], want)
		}
	}
}

// The names of the embeddings are those of the type, and those of a file are what the class of the
// base makes other names of.
func TestEmbeddingsAndFilesHaveTheNamesOfTheType(t *testing.T) {
	const neox = `{"model_type":"gpt_neox","architectures":["GPTNeoXForCausalLM"],"vocab_size":6}`
	for _, c := range []struct {
		name, config, file, adapter string
		tensors                     []fixtures.Tensor
		rows                        int64
	}{
		{"a resized vocabulary of GPT-2", `{"model_type":"gpt2","vocab_size":6}`, "wte.weight", `"r":2`, []fixtures.Tensor{whole("base_model.model.transformer.wte.weight", 7, 8, 4), whole(outputName, 7, 8, 4)}, 8},
		{"the output layer of GPT-2", `{"model_type":"gpt2","vocab_size":6}`, "transformer.wte.weight", `"r":2`, pair("lm_head", 2, 6, 4), 6},
		{"the output layer of BERT", `{"model_type":"bert","vocab_size":6}`, "bert.embeddings.word_embeddings.weight", `"r":2`, pair("cls.predictions.decoder", 2, 6, 4), 6},
		{"the output layer of GPT-NeoX", neox, "embed_out.weight", `"r":2`, pair("lm_head", 2, 6, 4), 6},
		{"a saved output layer of GPT-NeoX", neox, "embed_out.weight", `"modules_to_save":["lm_head"]`, []fixtures.Tensor{whole(outputName, 7, 6, 4)}, 6},
		{"a layer of LLaVA", `{"model_type":"llava","architectures":["LlavaForConditionalGeneration"]}`, "language_model.model.layers.0.mlp.up_proj.weight", `"r":2`, pair("model.language_model.layers.0.mlp.up_proj", 2, 6, 4), 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _, err := merge(t, folder{c.config, []fixtures.Tensor{whole(c.file, 3, 6, 4)}}, folder{`{"peft_type":"LORA",` + c.adapter + `}`, c.tensors})
			if err != nil {
				t.Fatal(err)
			}
			got := numbers(t, m, c.file)
			if m.Len() != 1 || int64(len(got)) != 4*c.rows || cmp.Equal(got, whole(c.file, 3, 6, 4).Values) {
				t.Errorf("%d tensors, %v", m.Len(), got)
			}
		})
	}
}

// The bias of BERT's output layer is that of the module around it while the two are tied.
func TestTheBiasOfATiedOutputLayer(t *testing.T) {
	const config = `{"model_type":"bert","vocab_size":6}`
	input, bias := whole("bert.embeddings.word_embeddings.weight", 3, 6, 4), whole("cls.predictions.bias", 4, 6)
	saved := as(whole(input.Name, 9, 6, 4), "base_model.model."+input.Name)
	m, _, err := merge(t, folder{config, []fixtures.Tensor{input, bias}}, folder{`{"peft_type":"LORA","modules_to_save":["word_embeddings"]}`, []fixtures.Tensor{saved}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float32{input.Name: saved.Values, "cls.predictions.decoder.weight": input.Values, "cls.predictions.decoder.bias": bias.Values, bias.Name: bias.Values} {
		if diff := cmp.Diff(want, numbers(t, m, name)); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", name, diff)
		}
	}
	grown := []fixtures.Tensor{as(whole(input.Name, 9, 8, 4), "base_model.model."+input.Name), as(whole(input.Name, 9, 8, 4), "base_model.model.cls.predictions.decoder.weight"), whole("base_model.model.cls.predictions.decoder.bias", 5, 8)}
	m, _, err = merge(t, folder{config, []fixtures.Tensor{input, bias}}, folder{`{"peft_type":"LORA"}`, grown})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(grown[2].Values, numbers(t, m, bias.Name)); diff != "" || m.Len() != 2 || m.Vocabulary != 8 {
		t.Errorf("%d tensors, a vocabulary of %d, want -, got +:\n%s", m.Len(), m.Vocabulary, diff)
	}
}

// A type that joins an encoder and a decoder of other types has the tokens of its decoder, which
// ties its own output layer: PEFT adds what is trained of either to their one matrix.
func TestTheOutputLayerOfADecoderInAPair(t *testing.T) {
	const pairOf, input, output = `{"model_type":"vision-encoder-decoder","architectures":["VisionEncoderDecoderModel"],"tie_word_embeddings":false,"encoder":{"model_type":"vit"},"decoder":{"model_type":"gpt2","vocab_size":6%s}}`, "decoder.transformer.wte", "decoder.lm_head"
	wte, head := whole(input+".weight", 3, 6, 4), whole(output+".weight", 5, 6, 4)
	more := pair(output, 2, 6, 4)
	const adapter = `{"peft_type":"LORA","r":2,"lora_alpha":4,"target_modules":["decoder.lm_head"]}`
	for _, c := range []struct {
		ties string
		base []fixtures.Tensor
		to   fixtures.Tensor
	}{
		{``, []fixtures.Tensor{wte}, wte},
		{`,"tie_word_embeddings":true`, []fixtures.Tensor{wte}, wte},
		{`,"tie_word_embeddings":false`, []fixtures.Tensor{wte, head}, head},
	} {
		m, _, err := merge(t, folder{fmt.Sprintf(pairOf, c.ties), c.base}, folder{adapter, more})
		if err != nil {
			t.Fatal(c.ties, err)
		}
		want := make([]float32, len(c.to.Values))
		for i := range want {
			row, col := int64(i)/4, int64(i)%4
			want[i] = c.to.Values[i] + 2*(at(more[1], row, 0)*at(more[0], 0, col)+at(more[1], row, 1)*at(more[0], 1, col))
		}
		if diff := cmp.Diff(want, numbers(t, m, c.to.Name)); diff != "" {
			t.Errorf("%q: want -, got +:\n%s", c.ties, diff)
		}
	}
	m, _, err := merge(t, folder{fmt.Sprintf(pairOf, ""), []fixtures.Tensor{wte}}, folder{`{"peft_type":"LORA","r":2,"modules_to_save":["decoder.lm_head"]}`, []fixtures.Tensor{as(head, "base_model.model."+output+".weight")}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float32{wte.Values, head.Values}, [][]float32{numbers(t, m, wte.Name), numbers(t, m, head.Name)}); diff != "" {
		t.Errorf("the output layer, saved whole: want -, got +:\n%s", diff)
	}
	text, err := fs.ReadFile(m.Configs(), "config.json")
	if want := strings.Replace(fmt.Sprintf(pairOf, ""), `"decoder":{`, `"decoder":{"tie_word_embeddings":false,`, 1); string(text) != want || err != nil {
		t.Errorf("config.json is %s (%v), want %s", text, err, want)
	}
}
