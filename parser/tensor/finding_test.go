package tensor_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A finding costs an item and the bytes of its texts; one that the policy refuses, or that no
// policy can name, is not kept.
func TestFindingsArePaidAndKeptOnce(t *testing.T) {
	one := tensor.Finding{Code: "gguf.name-long", Where: "tensor 1", Text: "a long name", Off: 7}
	var list tensor.Findings
	b := account(t, limits.Policy{MaxItems: 2})
	for range 2 {
		if err := list.Add(b, "gguf", one); err != nil {
			t.Fatal(err)
		}
	}
	if err := list.Add(b, "gguf", one); wire.ClassOf(err) != wire.Limit || len(list.All()) != 2 {
		t.Errorf("%v, %d findings", err, len(list.All()))
	}
	if err := list.Add(account(t, limits.Policy{MaxTotalBytes: int64(len(one.Where) + len(one.Text) - 1)}), "gguf", one); wire.ClassOf(err) != wire.Limit {
		t.Error(err)
	}
	if err := list.Add(account(t, limits.Policy{RefuseFindings: []string{one.Code}}), "gguf", one); wire.RuleOf(err) != one.Code || wire.ClassOf(err) != wire.Forbidden {
		t.Error(err)
	}
	if err := list.Add(account(t, limits.Policy{}), "gguf", tensor.Finding{Code: "nobody.knows"}); wire.ClassOf(err) != wire.Internal || len(list.All()) != 2 {
		t.Errorf("%v, %d findings", err, len(list.All()))
	}
}
