// Package vm is the pickle machine. It runs all opcodes of protocols 0 to 5
// and builds data; nothing is ever imported or called.
//
// [Load] reads one pickle and stops at the first global outside the allowlist,
// at a call with other arguments than that global takes, and at a change of
// anything but data of our own making. [Scan] goes on with opaque values and
// reports every global, call, state and persistent id. [Disassemble] lists the
// opcodes. All three are one machine.
//
//	g, err := vm.Load(r, off, end, b)
//	for key, value := range g.Root().Entries() { ... }
//
// A call of an allowed global is an object that remembers callee and arguments
// ([Value.Global], [Value.Args], [Value.State]); what a tensor is made of is
// the caller's to decide.
package vm
