// Package vm is the pickle machine: it runs protocols 0 to 5 to build data. Nothing is ever called.
//
//	g, err := vm.Load(b, r, off, end)
//	for key, value := range g.Root().Entries() { ... }
//
// [Load] reads one pickle and stops at the first global outside the allowlist, at a call with
// arguments that the global does not accept, and at a change of what the pickle did not build as
// data. [Scan] continues with opaque values and reports all that it asks for, with two verdicts: this
// machine's, and that of PyTorch's restricted loader. [Disassemble] lists the instructions. A call of
// an allowed global becomes an object of callee and arguments, or the container that it makes.
//
// # Limits
//
// A value is 16 bytes and an item, an instruction a step; stack and memo are charged as they grow.
// A flood costs at most 64 charged bytes and 10 steps for each of its bytes.
//
// # Not supported
//
// Protocols above 5, out-of-band buffers, persistent ids but PyTorch's, the extension registry.
package vm

// The rest of this page is for those who change the machine.
//
// Specification: CPython's Lib/pickletools.py and Modules/_pickle.c (3.14), PEP
// 307, 3154 and 574. PyTorch's rules: torch/_weights_only_unpickler.py (2.15.0).
//
// # Values
//
// A value is a node of 16 bytes in an arena and refers to others by number. Texts refer
// to the bytes of the pickle, which are kept as one string. So a GET from the memo costs
// one word, however large the value is; the cost of walking the value is added up and
// bounded.
//
// Two keys of a dict, or elements of a set, are the same if Python's hash and == say so:
// True, 1, 1.0, complex(1) and numpy.int8(1); (1,), (True,) and torch.Size([1]); "w" and
// TorchVersion("w"). A value that may equal keys of other kinds is refused as a key. Of a
// kind whose values only Python can tell apart, a container holds at most one.
//
// The values that a call, a state or a key refers to are frozen when they are used, so
// that a walk of the graph reads the arguments that the call has read.
//
// # Order
//
// One loop: take a step, find the next instruction (in its frame or after it), look its
// byte up in one table, run it. Every instruction consumes at least its own byte. Work
// beyond a constant is bounded by the values that earlier instructions have pushed, or
// charged as steps (see the limits). STOP ends the loop. If a container grew after
// something had referred to it, a final walk finds its real depth and size, and values
// that contain themselves; it enters each value once.
//
// # Limits
//
//	what                                          charged to, or bounded by
//	instructions                                  MaxSteps, one each; four more for a new global
//	bytes of operands from 1 KiB on               MaxSteps: 64 bytes each, 8 of a line of text
//	visits of arguments, copies of elements       MaxSteps; 8 for each byte of the pickle, and 1,024
//	values (not integers of 31 bits, None, ...)   MaxItems, MaxWorkingSet: 16 bytes each
//	elements, stack, marks, memo, tables, texts   MaxWorkingSet and MaxTotalBytes
//	bytes of the pickle                           MaxSingleAlloc, 2 GiB
//	depth of containers, open marks               MaxDepth
//	values that a walk meets again through GETs   MaxExpandRatio for each byte, past 1,048,576
//	an index of the memo                          2^32-1; a slice below twice the entries, else a table
//	distinct globals                              65,536
//	module and name of a global                   512 bytes each
//	decimal digits of an integer                  4,300, as CPython
//	notes, reasons of a verdict                   32, 64
//
// A flood of any instruction costs at most 64 charged bytes and 10 steps for
// each of its bytes.
//
// # Strictness
//
// Some pickles are refused although a loader accepts them, because another loader
// refuses them or reads them differently:
//
//   - an instruction that crosses the end of its frame, a frame inside of a frame, a
//     frame that continues after STOP
//   - values or marks that are left at STOP; PROTO anywhere but first
//   - a duplicate key or element; a change of a value that a call, a state or a key has
//     used; a value that contains itself
//   - attributes that hide a name of their class; hooks; a list as the arguments of a call
//   - numbers in forms that picklers do not write
//   - the state of a numpy.dtype that NumPy would not write, such as a field beyond the
//     end of its element; a NumPy array whose bytes do not match shape and type
//
// A scan records the first of these and continues as the more lenient loader would.
//
// # Not supported
//
// NEXT_BUFFER and READONLY_BUFFER (their data is not in the file), PERSID and persistent
// ids other than PyTorch's storages (refused by name), EXT1, EXT2 and EXT4 (forbidden:
// their numbers mean nothing outside of the program that registered them), protocols
// above 5. Arrays of joblib in a checkpoint: only [ScanPlain] reads them, as joblib 0.10
// and later write them without compression.
