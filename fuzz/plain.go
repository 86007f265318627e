//go:build !libfuzzer

package fuzz

const instrumented = false
