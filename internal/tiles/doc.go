// Package tiles is what writing large files fast and safely takes from the
// system: buffers whose address agrees with the file offset they are read from
// or written to, space that is reserved before it is written, and the lock and
// the order of syncs that make a new file appear whole or not at all.
//
// The kernel copies between a page and a buffer several times slower when the
// two lie differently within a cache line, so [Shift] gives a buffer the offset
// of its place in the file, modulo [Line].
package tiles
