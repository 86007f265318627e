//go:build libfuzzer

package fuzz

// instrumented says that the program is built for libFuzzer's coverage, with which inputs
// that otherwise stay within [Bounded] allocate more. That property is tested only without
// it.
const instrumented = true
