// Package msgpack reads one value of MessagePack to the end of its file, and hands each part to a
// visitor: nothing is built in memory but the names of the members around a value.
//
// Format: MessagePack, as srsly 2.5 (msgpack 1.1) writes and reads it. Extensions are refused: what
// one becomes is up to its reader. A file is one value; bytes behind it are refused.
//
// # Order
//
// Values are read from beginning to end; each has at least one byte, so a list or a map holds no more
// than the bytes that are left.
//
// # Limits
//
//	MaxDepth   one level per open list or map
//	MaxSteps   one per value
//	MaxItems   one per value
package msgpack
