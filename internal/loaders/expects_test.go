package loaders

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// find returns the conditions of the groups that have a name.
func find(e *Expected, name string) (groups []NameGroup) {
	for _, g := range e.Groups {
		for _, end := range g.Ends {
			if strings.TrimPrefix(g.Beginning+"."+end, ".") == name {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

// Each fact is in the class, in transformers' sources.
func TestWhichTensorsAClassHas(t *testing.T) {
	for _, c := range []struct {
		class, name string
		want        []Literal // nil for a name that is not there
		vague       string
	}{
		{"llama/LlamaForCausalLM", "model.layers.{num_hidden_layers}.mlp.up_proj.weight", []Literal{}, ""},
		{"llama/LlamaForCausalLM", "model.layers.{num_hidden_layers}.mlp.up_proj.bias", []Literal{{Member: "mlp_bias", Is: IsTrue}}, ""},
		{"llama/LlamaForCausalLM", "lm_head.weight", []Literal{{Member: "tie_word_embeddings", Is: IsFalse}}, ""},
		{"llama/LlamaModel", "lm_head.weight", nil, ""},
		{"llama/LlamaForSequenceClassification", "score.weight", []Literal{}, ""},
		{"qwen2/Qwen2ForCausalLM", "model.layers.{num_hidden_layers}.self_attn.q_proj.bias", []Literal{}, ""},
		{"qwen3_moe/Qwen3MoeForCausalLM", "model.layers.{num_hidden_layers}.mlp.experts.{num_local_experts}.up_proj.weight", []Literal{}, "2"},
		{"bert/BertForMaskedLM", "cls.predictions.decoder.weight", []Literal{{Member: "tie_word_embeddings", Is: IsFalse}}, ""},
		{"bert/BertModel", "pooler.dense.weight", []Literal{}, ""},
		{"jamba/JambaForCausalLM", "model.layers.{num_hidden_layers}.mamba.conv1d.bias", []Literal{{Member: "mamba_conv_bias", Is: IsTrue}}, "3"},
		{"qwen3_next/Qwen3NextForCausalLM", "model.layers.{num_hidden_layers}.linear_attn.A_log",
			[]Literal{{Member: "layer_types", Each: true, Yes: []string{"linear_attention"}, No: []string{"full_attention"}}}, ""},
	} {
		kind, class, _ := strings.Cut(c.class, "/")
		e, known := Expects(kind, class)
		groups := find(&e, c.name)
		if !known || len(groups) > 1 || len(groups) == 0 != (c.want == nil) {
			t.Errorf("%s: known %v, %s in %d groups", c.class, known, c.name, len(groups))
			continue
		}
		for _, g := range groups {
			if diff := cmp.Diff(c.want, append([]Literal{}, g.When...)); diff != "" || g.Vague != c.vague {
				t.Errorf("%s: %s, group %q: want -, got +:\n%s", c.class, c.name, g.Vague, diff)
			}
		}
	}
	if _, known := Expects("llama", "NobodysForCausalLM"); known {
		t.Error("a class that nobody has is known")
	}
}

// Every row can be read, and says of each member that it asks for what config.json may call it.
func TestEveryRowOfExpectedTensors(t *testing.T) {
	for class := range expectRows() {
		kind, name, _ := strings.Cut(class, "/")
		e, known := Expects(kind, name)
		if !known || len(e.Groups) == 0 {
			t.Errorf("%s: known %v, %d groups", class, known, len(e.Groups))
		}
		for _, g := range e.Groups {
			if g.Own {
				continue
			}
			for _, l := range g.When {
				if _, ok := e.Members[l.Member]; !ok && l.Member != "" {
					t.Errorf("%s asks for %q, and has no default for it", class, l.Member)
				}
			}
			if g.Vague != "" && !g.Loose && len(g.When) == 0 && !anyBegins(e.Together, g.Beginning) {
				t.Errorf("%s: group %s of %s is seen with none", class, g.Vague, g.Beginning)
			}
		}
	}
}

func anyBegins(together map[string][][]string, beginning string) bool {
	for b := range together {
		if strings.HasPrefix(beginning, b) {
			return true
		}
	}
	return false
}

func TestNamesInBraces(t *testing.T) {
	for text, want := range map[string][]string{
		"":                      {""},
		"a":                     {"a"},
		"a,b.c":                 {"a", "b.c"},
		"a(b,c)":                {"a.b", "a.c"},
		"a.b(c.d(e,f),g),h,h.i": {"a.b.c.d.e", "a.b.c.d.f", "a.b.g", "h", "h.i"},
	} {
		if got := unbraced(nil, "", text); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}
