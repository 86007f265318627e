// Package fuzz holds one fuzz target per parser, and the properties that they
// share. Run one with
//
//	go test -fuzz=FuzzSafetensors ./fuzz
//
// [Target.Check] is what every target that reads bytes asks; see [Property] for
// the list. The cross-cutting tests over the whole corpus stand here too.
//
// It is for this module alone: what it exports serves its own targets and may
// change at any time.
package fuzz
