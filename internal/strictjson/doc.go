// Package strictjson reads JSON that a stranger wrote: every text has one
// meaning or is refused. It is a pull decoder over a string, so that names
// without escapes cost nothing but their place in the text.
//
// The grammar is RFC 8259. Beyond it these are refused, because readers differ
// on them: a member name that appears twice in one object (escapes resolved),
// invalid UTF-8, a lone surrogate, bytes after the value. Where an integer is
// asked for, only its plain digits are one: not 1e3, 1.0, -0 or 01.
//
// # Order
//
// [Decode] calls its function with a [Decoder] that stands before the value.
// Each method consumes the value that it names, or fails and the decoder is of
// no more use. A member or an element that a callback leaves unread is skipped,
// and checked all the same. Every method that succeeds consumes a byte at least,
// every loop in it too, so work is linear in the text: termination follows.
//
// # Limits
//
//	depth  one level per open object or array
//	items  one per object member, one per array element that is no number,
//	       literal or null; charged 32 at a time
//	steps  one per value and per member name
//	bytes  text that an escape makes different from the source; 10 to 40
//	       per member of an object of more than 8 (the duplicate check)
//
// # Not supported
//
// Comments, trailing commas, NaN and Infinity, a byte order mark: none is JSON.
package strictjson
