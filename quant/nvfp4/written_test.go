package nvfp4_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Loaders put the matrices of attention together under one number.
func TestFusedMatricesShareOneScale(t *testing.T) {
	large := converttest.Wave(32 * 64)
	small := make([]float32, len(large))
	for i, x := range large {
		small[i] = x / 64
	}
	shape := []int64{32, 64}
	m := converttest.Source(t, map[string][]float32{"a.q_proj.weight": small, "a.k_proj.weight": large, "a.o_proj.weight": small},
		map[string][]int64{"a.q_proj.weight": shape, "a.k_proj.weight": shape, "a.o_proj.weight": shape})
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for name, over := range map[string]string{"nvfp4": "_global_scale", "modelopt_nvfp4": "_scale_2"} {
		out, _, err := converttest.Store(t, b, m, converttest.To(t, name), 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := converttest.Stored(t, b, out)
		q, k, o := got["a.q_proj.weight"+over], got["a.k_proj.weight"+over], got["a.o_proj.weight"+over]
		if q != k || q == o || q == "" {
			t.Errorf("%s: %q, %q and %q", name, q, k, o)
		}
	}
}
