package report

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Text for people has no characters that a terminal acts on; quotes and backslashes are unchanged.
// A model of a thousand tensors may have a thousand findings of one code.
func TestFindingsOfOneCodeAreCounted(t *testing.T) {
	found := []tensor.Finding{{Code: "a", Where: "0"}}
	for i := range 1003 {
		found = append(found, tensor.Finding{Code: "b", Severity: tensor.Warning, Where: strconv.Itoa(i)})
	}
	found = append(found, tensor.Finding{Code: "a", Where: "1"})
	var got []string
	for severity, text := range FewOf(found) {
		got = append(got, severity.String()+" "+text)
	}
	want := []string{"note a: 0: ", "warning b: 0: ", "warning b: 1: ", "warning b: 2: ", "note a: 1: ", "warning b: 1,000 more; --json lists them"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
