//go:build libfuzzer

package fuzz

// instrumented says that the program is built for libFuzzer's coverage. Inputs that stay within [Bounded]
// without it allocate more then, so it is asked only of programs without it.
const instrumented = true
