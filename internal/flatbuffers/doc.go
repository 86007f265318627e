// Package flatbuffers reads FlatBuffers against a schema, and proves all that can be reached
// before any of it is used.
//
// # Order
//
// [Reader.Root] follows the first offset. [Reader.Verify] goes through everything below a table,
// depth first; it ends because an offset of a schema leads from a table to another kind of table,
// and no kind contains itself. Two offsets may lead to one table, which is then visited twice: each
// visit is a step of the account. Every accessor checks what it reads again, so nothing depends on
// an earlier look at the same bytes.
//
// # Rules
//
// They are those of the verifier of google/flatbuffers: an offset leads forward, to a multiple of
// four; a table of fields has an even size, and lies in the file as its table does; a scalar is at
// a multiple of its size; a vector is as long as it states; a text ends with a zero. Beyond them,
// a field that the schema does not have is refused, as is a type of a union that it does not have.
//
// # Limits
//
//	pages   16 of 4 KiB are in memory, whatever the order in which offsets lead through a file
//	steps   one for each table, as often as an offset leads to it
//
// The library considered is github.com/google/flatbuffers/go: its accessors panic where an offset
// leads out of the buffer, it has no verifier, and it needs the whole file in memory.
package flatbuffers
