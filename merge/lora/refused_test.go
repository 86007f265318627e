package lora_test

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/merge/lora"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Adapters that do not fit their base, each by one tensor or member.
func TestAdaptersThatDoNotFit(t *testing.T) {
	const prefix = "base_model.model."
	integers := func(w fixtures.Tensor) fixtures.Tensor { w.Type = "I32"; return w }
	join := func(lists ...[]fixtures.Tensor) (all []fixtures.Tensor) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	embedding := func(out, in int64) []fixtures.Tensor {
		l := pair("model.embed_tokens", 2, out, in)
		l[0].Name, l[1].Name = prefix+"model.embed_tokens.lora_embedding_A", prefix+"model.embed_tokens.lora_embedding_B"
		return l
	}
	nan := whole(inputRows, 7, 3, 4)
	nan.Values[5] = float32(math.NaN())
	base := vocabularyBase(untied)
	base.tensors = append(base.tensors, whole("model.l.bias", 6, 4), whole("model.x.up", 7, 4, 4), whole("model.x.down", 8, 4, 4), whole("model.y.up", 7, 6, 4), whole("model.y.down", 8, 4, 6), whole("model.s.weight", 9, 4, 4), whole("model.t.weight", 9, 4, 5))
	plain := base
	plain.config = `{"vocab_size":6,"tie_word_embeddings":false}`
	twice := folder{tensors: []fixtures.Tensor{whole("a.l.weight", 3, 5, 4), whole("b.l.weight", 3, 5, 4)}}
	for _, c := range []struct {
		name, config string
		base         folder
		tensors      []fixtures.Tensor
		class        wire.Class
		says         string
	}{
		{"magnitudes under two names", `"r":2,"use_dora":true`, base, join(pair("model.l", 2, 5, 4), []fixtures.Tensor{whole(prefix+"model.l.lora_magnitude_vector", 1, 5), whole(prefix+"model.l.lora_magnitude_vector.weight", 1, 5)}), wire.Malformed, "second time"},
		{"a copy of a module that is not saved", `"r":2`, base, join(pair("model.l", 2, 5, 4), []fixtures.Tensor{whole(prefix+"model.s.modules_to_save.weight", 1, 4, 4)}), wire.Unsupported, "is a copy"},
		{"a bias of another length", `"r":2,"lora_bias":true`, base, join(pair("model.l", 2, 5, 4), []fixtures.Tensor{whole(prefix+"model.l.lora_B.bias", 1, 5)}), wire.Malformed, "a bias of shape"},
		{"vectors for matrices", `"r":2`, base, []fixtures.Tensor{whole(prefix+"model.l.lora_A.weight", 1, 8), whole(prefix+"model.l.lora_B.weight", 1, 10)}, wire.Malformed, "do not fit"},
		{"matrices of two ranks", `"r":2`, base, []fixtures.Tensor{whole(prefix+"model.l.lora_A.weight", 1, 2, 4), whole(prefix+"model.l.lora_B.weight", 1, 5, 3)}, wire.Malformed, "do not fit"},
		{"an embedding of another width", `"r":2`, base, embedding(5, 6), wire.Malformed, "do not fit"},
		{"layers of both kinds and a square one", `"r":2`, plain, join(pair("model.l", 2, 5, 4), pair("model.t", 2, 5, 4), pair("model.s", 2, 4, 4)), wire.Unsupported, "ambiguous"},
		{"one of two parameters", `"r":2,"target_modules":[],"target_parameters":["x.up","x.down"]`, base, pair("model.x", 2, 4, 4), wire.Malformed, "names 2"},
		{"three adapters of two parameters", `"r":2,"target_modules":[],"target_parameters":["y.up","y.down"]`, base, join(pair("model.y", 2, 6, 4), pair("model.y.base_layer", 2, 4, 6), pair("model.y.base_layer.base_layer", 2, 4, 6)), wire.Malformed, "3 of its parameters"},
		{"parameters of one shape", `"r":2,"target_modules":[],"target_parameters":["x.up","x.down"]`, base, join(pair("model.x", 2, 4, 4), pair("model.x.base_layer", 2, 4, 4)), wire.Unsupported, "do not determine"},
		{"parameters with magnitudes", `"r":2,"use_dora":true,"target_modules":[],"target_parameters":["x.up"]`, base, join(pair("model.x", 2, 4, 4), []fixtures.Tensor{whole(prefix+"model.x.lora_magnitude_vector", 1, 4)}), wire.Unsupported, "cannot be combined"},
		{"names under two prefixes", `"r":2`, twice, pair("l", 2, 5, 4), wire.Unsupported, "under both"},
		{"rows of integers", `"trainable_token_indices":[1,2,3]`, base, []fixtures.Tensor{integers(whole(inputRows, 7, 3, 4))}, wire.Unsupported, "its type"},
		{"rows of another width", `"trainable_token_indices":[1,2,3]`, base, []fixtures.Tensor{whole(inputRows, 7, 3, 5)}, wire.Malformed, "the base's [6 4]"},
		{"rows that are no numbers", `"trainable_token_indices":[1,2,3]`, base, []fixtures.Tensor{nan}, wire.Malformed, "element 5"},
		{"rows and matrices of one embedding", `"r":2,"trainable_token_indices":[1,2,3]`, base, join(embedding(4, 6), []fixtures.Tensor{whole(inputRows, 7, 3, 4)}), wire.Unsupported, "one by one"},
		{"a saved module of integers", `"r":2,"modules_to_save":["s"]`, base, []fixtures.Tensor{integers(whole(prefix+"model.s.weight", 7, 4, 4))}, wire.Unsupported, "its type"},
		{"a second copy without a first", `"r":2,"modules_to_save":["s"]`, base, join(pair("model.l", 2, 5, 4), []fixtures.Tensor{whole(prefix+"model.s.modules_to_save.weight", 1, 4, 4)}), wire.Malformed, "a copy of a tensor"},
		{"a second copy of another shape", `"r":2,"modules_to_save":["s"]`, base, []fixtures.Tensor{whole(prefix+"model.s.weight", 1, 4, 4), whole(prefix+"model.s.modules_to_save.weight", 1, 4, 5)}, wire.Malformed, "must equal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _, err := merge(t, c.base, folder{`{"peft_type":"LORA",` + c.config + `}`, c.tensors})
			if err == nil {
				err = readAll(m)
			}
			if wire.ClassOf(err) != c.class || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v: %v, want %v that says %q", wire.ClassOf(err), err, c.class, c.says)
			}
		})
	}
}

// Two adapters that replace the same rows of a base are refused.
func TestTwoAdaptersOfTheSameRows(t *testing.T) {
	rows := folder{`{"peft_type":"LORA","trainable_token_indices":[1,2,3]}`, []fixtures.Tensor{whole(inputRows, 7, 3, 4)}}
	if _, _, err := merge(t, vocabularyBase(untied), rows); err != nil {
		t.Fatal(err)
	}
	if _, _, err := merge(t, vocabularyBase(untied), rows, rows); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("%v", err)
	}
}

// Which of several incomplete modules is named does not depend on the order of a map.
func TestTheFirstIncompleteModuleIsNamed(t *testing.T) {
	var base folder
	var tensors []fixtures.Tensor
	for i := range 8 {
		m := fmt.Sprintf("m.%d", i)
		base.tensors = append(base.tensors, whole(m+".up", 7, 4, 4), whole(m+".down", 8, 4, 4))
		tensors = append(tensors, pair(m, 2, 4, 4)...)
	}
	for range 20 {
		_, _, err := merge(t, base, folder{`{"peft_type":"LORA","r":2,"target_modules":[],"target_parameters":["up","down"]}`, tensors})
		if wire.ClassOf(err) != wire.Malformed || !strings.Contains(err.Error(), `"m.0"`) {
			t.Fatalf("%v", err)
		}
	}
}

// A changed model differs from what a parser returns, as one of a program can.
type changed struct {
	tensor.Model
	change func(tensor.Info) tensor.Info
}

func (c changed) Tensors() iter.Seq[tensor.Info] {
	return func(yield func(tensor.Info) bool) {
		for i := range c.Model.Tensors() {
			if !yield(c.change(i)) {
				return
			}
		}
	}
}

// A base with two tensors of one name or on one storage, which no safetensors file has.
func TestBasesOfPrograms(t *testing.T) {
	for class, change := range map[wire.Class]func(tensor.Info) tensor.Info{
		wire.OK:          func(i tensor.Info) tensor.Info { return i },
		wire.Malformed:   func(i tensor.Info) tensor.Info { i.Name = "model.l.weight"; return i },
		wire.Unsupported: func(i tensor.Info) tensor.Info { i.Storage = "one"; return i },
	} {
		b := limits.Policy{}.Budget(t.Context())
		base := changed{vocabularyBase(untied).open(t, b, "model.safetensors", "config.json"), change}
		adapter := folder{`{"peft_type":"LORA","r":2}`, pair("model.l", 2, 5, 4)}.open(t, b, "adapter_model.safetensors", "adapter_config.json")
		if _, err := lora.Merge(b, base, []lora.Adapter{{Model: adapter, Weight: 1}}); wire.ClassOf(err) != class {
			t.Errorf("%v: %v", class, err)
		}
		b.Close()
	}
}

// Adapters of llama.cpp whose matrices do not fit their weights.
func TestMatricesOfGGUFThatDoNotFit(t *testing.T) {
	keys := func(arch string) []gguf.Entry {
		return []gguf.Entry{{Key: "general.type", Value: "adapter"}, {Key: "general.architecture", Value: arch}, {Key: "adapter.type", Value: "lora"}, {Key: "adapter.lora.alpha", Value: float32(6)}}
	}
	for _, c := range []struct {
		name, arch, module string
		a, b               []int64
		class              wire.Class
	}{
		{"a weight", "llama", "l.weight", []int64{3, 4}, []int64{5, 3}, wire.OK},
		{"another architecture", "qwen2", "l.weight", []int64{3, 4}, []int64{5, 3}, wire.Malformed},
		{"a vector", "llama", "v.weight", []int64{3, 4}, []int64{5, 3}, wire.Malformed},
		{"matrices for a stack", "llama", "e.weight", []int64{3, 4}, []int64{5, 3}, wire.Malformed},
		{"a stack", "llama", "e.weight", []int64{2, 3, 4}, []int64{2, 5, 3}, wire.OK},
		{"a stack of another length", "llama", "e.weight", []int64{2, 3, 4}, []int64{3, 5, 3}, wire.Malformed},
		{"a stack whose other part is longer", "llama", "e.weight", []int64{3, 3, 4}, []int64{2, 5, 3}, wire.Malformed},
		{"two ranks", "llama", "l.weight", []int64{3, 4}, []int64{5, 2}, wire.Malformed},
		{"other columns", "llama", "l.weight", []int64{3, 5}, []int64{5, 3}, wire.Malformed},
		{"the table of tokens", "llama", "token_embd.weight", []int64{7, 3}, []int64{4, 3}, wire.OK},
		{"a table of fewer tokens", "llama", "token_embd.weight", []int64{6, 3}, []int64{4, 3}, wire.Malformed},
		{"a table of two ranks", "llama", "token_embd.weight", []int64{7, 2}, []int64{4, 3}, wire.Malformed},
		{"a table of another width", "llama", "token_embd.weight", []int64{7, 3}, []int64{5, 3}, wire.Malformed},
		{"no rank", "llama", "l.weight", []int64{0, 4}, []int64{5, 0}, wire.Malformed},
	} {
		b := limits.Policy{}.Budget(t.Context())
		base := ggufFile(t, b, []gguf.Entry{{Key: "general.architecture", Value: "llama"}}, whole("l.weight", 8, 5, 4), whole("token_embd.weight", 9, 7, 4), whole("e.weight", 9, 2, 5, 4), whole("v.weight", 9, 5))
		adapter := ggufFile(t, b, keys(c.arch), whole(c.module+".lora_a", 1, c.a...), whole(c.module+".lora_b", 2, c.b...))
		if _, err := lora.Merge(b, base, []lora.Adapter{{Model: adapter, Weight: 1}}); wire.ClassOf(err) != c.class {
			t.Errorf("%s: %v, want %v", c.name, err, c.class)
		}
		b.Close()
	}
}
