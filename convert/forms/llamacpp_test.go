package forms_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

func TestQueryAndKeyRowsAreReorderedForLlamaCPP(t *testing.T) {
	b := converttest.Account(t)
	m, err := forms.LlamaCPP{Name: "x", Pre: "default"}.Model(b, converttest.LlamaOfOneLayer(t, b, converttest.LlamaConfig, ""))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for i := range m.Tensors() {
		if i.Name != "blk.0.attn_q.weight" {
			continue
		}
		r, ok := m.At(i)
		p := make([]byte, i.Span.Len)
		if _, err := r.ReadAt(p, 0); err != nil || !ok {
			t.Fatal(err)
		}
		for row := range 8 {
			got += fmt.Sprint(binary.LittleEndian.Uint32(p[row*16:]) >> 23)
		}
		tail := make([]byte, 20) // from the middle of a row on
		if _, err := r.ReadAt(tail, 24); err != nil || !bytes.Equal(tail, p[24:44]) {
			t.Error("a part differs from the whole", err)
		}
	}
	if got != "02134657" {
		t.Errorf("rows of the query: %s", got)
	}
	if _, err := convert.NewPlan(b, m, convert.Options{Sink: convert.GGUF{}}); err != nil {
		t.Error(err)
	}
}

func TestConfigurationsThatARowDoesNotCoverAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, old, new, leave string
		class                 wire.Class
	}{
		{"an unknown architecture", "LlamaForCausalLM", "OtherForCausalLM", "", wire.Unsupported},
		{"no architecture", `["LlamaForCausalLM"]`, `[]`, "", wire.Unsupported},
		{"a width that the tensors do not have", `"hidden_size": 4`, `"hidden_size": 8`, "", wire.Malformed},
		{"a layer that is not there", `"num_hidden_layers": 1`, `"num_hidden_layers": 2`, "", wire.Malformed},
		{"layers without end", `"num_hidden_layers": 1`, `"num_hidden_layers": 1000000000`, "", wire.Malformed},
		{"no heads", `"num_attention_heads": 2`, `"num_attention_heads": 0`, "", wire.Malformed},
		{"a vocabulary of another size", `"vocab_size": 3`, `"vocab_size": 2`, "", wire.Malformed},
		{"a tensor that is missing", "", "", "model.layers.0.mlp.up_proj", wire.Malformed},
		{"a head that is missing and not tied", "", "", "lm_head", wire.Malformed},
		{"rotations of an unknown kind", `"head_dim": 4`, `"head_dim": 4, "rope_scaling": {"type": "odd", "factor": 2}`, "", wire.Malformed},
		{"no JSON", `{"arch`, `{{"arch`, "", wire.Malformed},
	} {
		b := converttest.Account(t)
		config := strings.Replace(converttest.LlamaConfig, c.old, c.new, 1)
		_, err := forms.LlamaCPP{Pre: "default"}.Model(b, converttest.LlamaOfOneLayer(t, b, config, c.leave))
		if wire.ClassOf(err) != c.class {
			t.Errorf("%s: class %v: %v", c.name, wire.ClassOf(err), err)
		}
	}
}
