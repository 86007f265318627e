// Package fuzz holds one fuzz target per parser, and the properties that they
// share. Run one with
//
//	go test -fuzz=FuzzSafetensors -fuzzminimizetime=1x ./fuzz
//
// Every target that reads bytes calls [Target.Check]; [Property] lists what it checks.
// The tests that run over the whole corpus are here too.
//
// The package is for this module only: its exported names serve its own targets and may
// change at any time.
package fuzz
