package parser_test

import (
	"bytes"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// HQQ's loader runs the text of these tensors in any format.
func TestEvaluatedTextIsJudgedInEveryFormat(t *testing.T) {
	for text, want := range map[string]wire.Class{"torch.float16": wire.OK, "exit()": wire.Forbidden} {
		b := limits.Policy{}.Budget(t.Context())
		m := &tensor.File{Name: "pth", Source: bytes.NewReader([]byte(text)), Infos: []tensor.Info{
			{Name: "l.compute_dtype", DType: tensor.U8, Shape: []int64{int64(len(text))}, Span: tensor.Span{Len: int64(len(text))}}}}
		if err := parser.Verify(b, m); wire.ClassOf(err) != want {
			t.Errorf("%q: %v", text, err)
		}
		b.Close()
	}
}
