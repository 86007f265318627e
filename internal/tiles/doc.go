// Package tiles has what it takes to write large files fast and safely: buffers that are
// aligned as the file offset they are read from or written to, space that is reserved
// before it is written.
//
// The kernel copies several times slower between a page and a buffer that are aligned
// differently within a cache line. So the address of a buffer from [Shift] equals its
// file offset modulo [Line].
package tiles
