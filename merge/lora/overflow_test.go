package lora_test

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// readAll reads every tensor of a model and returns the first error.
func readAll(m tensor.Model) error {
	for i := range m.Tensors() {
		r, _ := m.At(i)
		if _, err := r.ReadAt(make([]byte, i.Span.Len), 0); err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}

// No result has an infinity that neither the base nor the adapter has.
func TestNoResultBecomesInfinite(t *testing.T) {
	inf := float32(math.Inf(1))
	with := func(w fixtures.Tensor, f float32) fixtures.Tensor { w.Values[7] = f; return w }
	for _, c := range []struct {
		name, config string
		w            fixtures.Tensor
		more         []fixtures.Tensor
		says         string // empty: it is merged
	}{
		{"a scale too large for float32", `{"peft_type":"LORA","r":2,"lora_alpha":1e308}`, fixtures.Whole("l.weight", "F32", 5, 5, 4), pair("l", 2, 5, 4), "float32"},
		{"a scale by pattern", `{"peft_type":"LORA","r":2,"alpha_pattern":{"l":1e39}}`, fixtures.Whole("l.weight", "F32", 5, 5, 4), pair("l", 2, 5, 4), "float32"},
		{"a product too large for float32", `{"peft_type":"LORA","r":2,"lora_alpha":6e38}`, fixtures.Whole("l.weight", "F32", 5, 5, 4), pair("l", 2, 5, 4), `tensor "l.weight"`},
		{"a replacement too large for bfloat16", `{"peft_type":"LORA","r":2,"modules_to_save":["l"]}`, fixtures.Whole("l.weight", "BF16", 5, 5, 4), []fixtures.Tensor{with(fixtures.Whole("base_model.model.l.weight", "F32", 1, 5, 4), 3.4e38)}, `tensor "l.weight"`},
		{"an infinity of the base", `{"peft_type":"LORA","r":2}`, with(fixtures.Whole("l.weight", "F32", 5, 5, 4), inf), pair("l", 2, 5, 4), ""},
		{"an infinity of a replacement", `{"peft_type":"LORA","r":2,"modules_to_save":["l"]}`, fixtures.Whole("l.weight", "BF16", 5, 5, 4), []fixtures.Tensor{with(fixtures.Whole("base_model.model.l.weight", "F32", 1, 5, 4), inf)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _, err := merge(t, folder{tensors: []fixtures.Tensor{c.w}}, folder{c.config, c.more})
			if err == nil {
				err = readAll(m)
			}
			if c.says == "" && err == nil {
				return
			}
			if c.says == "" || wire.ClassOf(err) != wire.Malformed || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
