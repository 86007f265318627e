// Package protobuf reads messages in protobuf's encoding, field by field, against a table of
// what each message may have. Fields that the table does not list are refused, and nothing is
// decoded into memory: a [Hook] gets the numbers, the texts and the places of the bytes.
//
// Format: Protocol Buffers, encoding, as of protobuf 7. The readers of Google's library
// build messages in memory before anyone can look at them, merge repeated fields and
// skip what they do not know; this one charges first and refuses both. It also refuses a tag
// that is longer than it has to be, and a length of more than five bytes, since the readers
// disagree about them.
//
// # Order
//
// Messages are read from beginning to end, each within its stated length; every field
// has at least two bytes.
//
// # Limits
//
//	MaxDepth   one level per message in a message
//	MaxSteps   one per field, and per number that is not packed by size
//
// # Not supported
//
// Groups, and more than 63 fields of which none is repeated.
package protobuf
