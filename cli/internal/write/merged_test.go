package write

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
)

// The line says what happened: an adapter of whole modules computes nothing, and neither do layers
// that are put together.
func TestTheSummaryOfAMergeSaysWhatItDid(t *testing.T) {
	written := convert.Count{Tensors: 24, Bytes: 2048}
	for _, c := range []struct {
		m    merged
		want string
	}{
		{merged{what: "model", sources: []string{"a"}}, "1 model, no number computed: 24 tensors copied, 2.0 KiB"},
		{merged{what: "adapter", sources: []string{"a"}, replaced: []string{"head"}}, "1 adapter, no number computed: 1 tensor replaced and 0 added, of 24, 2.0 KiB"},
		{merged{what: "adapter", sources: []string{"a", "b"}, changed: 2, added: []string{"head"}}, "2 adapters into 2 tensors of 24, 2.0 KiB"},
	} {
		if got := mergedText(&c.m, written); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
