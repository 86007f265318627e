// Package strictjson reads untrusted JSON. A text that two readers could interpret
// differently is refused. It is a pull decoder over a string; names without escapes are
// slices of the text and cost no memory.
//
// The grammar is RFC 8259. Also refused, because readers differ on them: a duplicate
// member name in one object (after escapes are resolved), invalid UTF-8, a lone
// surrogate, bytes after the value. An integer consists of plain digits: 1e3, 1.0, -0
// and 01 are not integers.
//
// # Order
//
// [Decode] calls its function with a [Decoder] that is positioned before the value. Each method
// consumes the value that it names; after a failure the decoder cannot be used further.
// A member or an element that a callback leaves unread is checked and skipped. Every
// method that succeeds, and every iteration of its loops, consumes at least one byte. So
// it ends, in time linear in the text.
//
// # Limits
//
//	depth  one level per open object or array
//	items  one per object member, one per array element that is not a number,
//	       literal or null; charged 32 at a time
//	steps  one per value and per member name
//	bytes  text that differs from the source because of escapes; 10 to 40 per member
//	       of an object of more than 8 (the check for duplicates)
//
// # Not supported
//
// Comments, trailing commas, NaN and Infinity, a byte order mark: none of these is JSON.
package strictjson
