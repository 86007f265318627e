package family

import "testing"

// Biases that llama.cpp requires are those of tensors that the row has.
func TestBiasesBelongToExistingTensors(t *testing.T) {
	seen := 0
	for _, r := range rows {
		have := map[string]bool{}
		list := append([]mapping(nil), r.outer...)
		for _, n := range append(list, r.layers()...) {
			have[n.gguf] = true
			for _, v := range n.views {
				have[v.gguf] = true
			}
		}
		for _, n := range r.biased {
			if seen++; !have[n] {
				t.Errorf("%s has no %s", r.arch, n)
			}
		}
	}
	if seen < 60 {
		t.Errorf("only %d biases are required", seen)
	}
}
