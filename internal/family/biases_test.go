package family

import "testing"

// The table of biases names tensors that the rows of an architecture have.
func TestBiasesAreOfTensorsThatThereAre(t *testing.T) {
	have := map[string]map[string]bool{}
	for _, r := range rows {
		if have[r.arch] == nil {
			have[r.arch] = map[string]bool{}
		}
		list := append([]mapping(nil), r.outer...)
		for _, n := range append(list, r.layers()...) {
			have[r.arch][n.gguf] = true
			for _, v := range n.views {
				have[r.arch][v.gguf] = true
			}
		}
	}
	for arch, list := range biased {
		for _, n := range list {
			if !have[arch][n] {
				t.Errorf("%s has no %s", arch, n)
			}
		}
	}
}
