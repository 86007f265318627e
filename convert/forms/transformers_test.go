package forms_test

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/quant"
)

func TestAFolderConvertedToGGUFAndBackIsTheSame(t *testing.T) {
	b := converttest.Account(t)
	back, err := forms.Transformers{}.Model(b, converttest.GGUFOfOneLayer(t, b, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := converttest.Bodies(t, converttest.LlamaOfOneLayer(t, b, converttest.LlamaConfig, ""))
	if diff := cmp.Diff(want, converttest.Bodies(t, back)); diff != "" {
		t.Error(diff)
	}
	var names []string
	list, err := fs.ReadDir(back.Configs(), ".")
	for _, e := range list {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"config.json", "tokenizer.json", "tokenizer_config.json"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
	// And from there once more to llama.cpp.
	again, err := forms.LlamaCPP{Name: "x", Pre: "gpt-2"}.Model(b, back)
	if err != nil {
		t.Fatal(err)
	}
	have := converttest.GGUFOfOneLayer(t, b, nil, nil)
	if diff := cmp.Diff(converttest.Bodies(t, have), converttest.Bodies(t, again)); diff != "" {
		t.Error(diff)
	}
	one, two := maps.Collect(have.Meta()), maps.Collect(again.Meta())
	for key := range two {
		if _, ok := one[key]; !ok && key != "llama.rope.freq_base" && !strings.HasPrefix(key, "tokenizer.") { // now they are stated
			if key != "llama.context_length" && key != "llama.attention.layer_norm_rms_epsilon" {
				t.Errorf("key %s is new", key)
			}
		}
	}
}

func TestKeysThatNoRuleCoversAreRefused(t *testing.T) {
	set := func(key string, value any) func([]convert.Entry) ([]convert.Entry, error) {
		return func(list []convert.Entry) ([]convert.Entry, error) {
			list = slices.DeleteFunc(list, func(e convert.Entry) bool { return e.Key == key })
			if value != nil {
				list = append(list, convert.Entry{Key: key, Value: value})
			}
			return list, nil
		}
	}
	without := func(name string) func(string) bool { return func(s string) bool { return s != name } }
	for _, c := range []struct {
		name   string
		change func([]convert.Entry) ([]convert.Entry, error)
		keep   func(string) bool
		class  wire.Class
	}{
		{"an unknown architecture", set("general.architecture", "other"), nil, wire.Unsupported},
		{"no architecture", set("general.architecture", nil), nil, wire.Unsupported},
		{"a key that says what no member of config.json does", set("llama.attention.temperature_length", uint32(8)), nil, wire.Unsupported},
		{"a width that the tensors do not have", set("llama.embedding_length", uint32(8)), nil, wire.Malformed},
		{"a width that is missing", set("llama.embedding_length", nil), nil, wire.Unsupported},
		{"a text for a width", set("llama.embedding_length", "wide"), nil, wire.Unsupported},
		{"more layers than there are", set("llama.block_count", uint32(2)), nil, wire.Malformed},
		{"layers without end", set("llama.block_count", uint32(1<<31)), nil, wire.Malformed},
		{"no heads", set("llama.attention.head_count", uint32(0)), nil, wire.Malformed},
		{"an odd kind of scaling", set("llama.rope.scaling.type", "odd"), nil, wire.Unsupported},
		{"half a head that rotates", set("llama.rope.dimension_count", uint32(2)), nil, wire.Unsupported},
		{"a vocabulary of another size", set("llama.vocab_size", uint32(4)), nil, wire.Unsupported},
		{"a tensor that is missing", nil, without("blk.0.ffn_up.weight"), wire.Malformed},
		{"no table of tokens", nil, without("token_embd.weight"), wire.Malformed},
		{"no vocabulary", set("tokenizer.ggml.tokens", nil), nil, wire.Malformed},
		{"fewer tokens than rows", set("tokenizer.ggml.tokens", []string{"a", "b"}), nil, wire.Malformed},
		{"fewer types than tokens", set("tokenizer.ggml.token_type", []int32{1}), nil, wire.Malformed},
	} {
		b := converttest.Account(t)
		_, err := forms.Transformers{}.Model(b, converttest.GGUFOfOneLayer(t, b, c.change, c.keep))
		if wire.ClassOf(err) != c.class {
			t.Errorf("%s: class %v: %v", c.name, wire.ClassOf(err), err)
		}
	}
}

// A tokenizer that cannot be rebuilt is left out, and reported.
func TestATokenizerThatCannotBeRebuiltIsReported(t *testing.T) {
	for _, c := range []struct{ name, key, value, want string }{
		{"a pre-tokenizer that is not known", "tokenizer.ggml.pre", "odd", "no pre-tokenizer is known"},
		{"a kind that is not known", "tokenizer.ggml.model", "rwkv", "a tokenizer of the kind"},
	} {
		b := converttest.Account(t)
		change := func(list []convert.Entry) ([]convert.Entry, error) {
			for i := range list {
				if list[i].Key == c.key {
					list[i].Value = c.value
				}
			}
			return list, nil
		}
		m, err := forms.Transformers{Target: quant.BF16}.Model(b, converttest.GGUFOfOneLayer(t, b, change, nil))
		if err != nil {
			t.Fatal(err)
		}
		p, err := convert.NewPlan(b, m, convert.Options{Shard: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.WriteFolder(t.TempDir()+"/out", false, false)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Beside.Left) != 1 || !strings.Contains(r.Beside.Left[0], c.want) {
			t.Errorf("%s: left %q", c.name, r.Beside.Left)
		}
	}
}
