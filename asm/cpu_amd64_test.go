//go:build !purego

package asm

import (
	"slices"
	"testing"

	"github.com/klauspost/cpuid/v2"
)

// Processors of each level: what kernels use of theirs, and the level that they
// come to. Whatever one of these lacks, no level is left that uses it.
func TestLevelsFollowFromWhatProcessorsSupport(t *testing.T) {
	haswell := []cpuid.FeatureID{cpuid.AVX2, cpuid.F16C, cpuid.FMA3, cpuid.POPCNT, cpuid.BMI1, cpuid.BMI2}
	skylake := slices.Concat(haswell, []cpuid.FeatureID{cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512DQ})
	ice := slices.Concat(skylake, []cpuid.FeatureID{cpuid.AVX512VBMI})
	for _, c := range []struct {
		name string
		has  []cpuid.FeatureID
		want Level
	}{
		{"a processor of 2008", []cpuid.FeatureID{cpuid.POPCNT}, Generic},
		{"Haswell, Zen to Zen 3", haswell, avx2},
		{"Skylake-X, which has no VBMI", skylake, avx2},
		{"Ice Lake, Zen 4", ice, avx512},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := For(featuresOf(supporting(c.has)))
			if got := o.Level(); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	for i, lacking := range ice {
		below := avx2
		if i < len(haswell) {
			below = Generic
		}
		o := For(featuresOf(supporting(slices.Delete(slices.Clone(ice), i, i+1))))
		if got := o.Level(); got != below {
			t.Errorf("without %v: got %v, want %v", lacking, got, below)
		}
	}
}

// supporting is a processor with exactly these features.
func supporting(has []cpuid.FeatureID) func(...cpuid.FeatureID) bool {
	return func(ids ...cpuid.FeatureID) bool {
		return !slices.ContainsFunc(ids, func(id cpuid.FeatureID) bool { return !slices.Contains(has, id) })
	}
}
