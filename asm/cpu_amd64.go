//go:build !purego

package asm

import "github.com/klauspost/cpuid/v2"

// features returns the processor's levels. The operating system must save the wide
// registers too, which the package checks.
func features() Features { return featuresOf(cpuid.CPU.Supports) }

// featuresOf returns the levels of a processor, given the features that it supports.
func featuresOf(supports func(...cpuid.FeatureID) bool) (f Features) {
	if supports(cpuid.AVX2, cpuid.F16C, cpuid.FMA3, cpuid.POPCNT, cpuid.BMI1, cpuid.BMI2) {
		f = f.with(avx2)
	}
	if f.has(avx2) && supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512DQ, cpuid.AVX512VBMI) {
		f = f.with(avx512)
	}
	return f
}
