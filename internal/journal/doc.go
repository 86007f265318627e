// Package journal keeps what a long job has written, so that a later run can go on with it.
//
//	j, err := journal.Open(b, file, key, facts)   // a journal of the same job, or an error
//	j, err := journal.Begin(file, key, facts)     // a new one
//	err = j.Each(b, func(r *journal.Record) error { ... })
//	err = j.Append(&record)
//
// # Form
//
// A journal is text. It begins with a line that names the format and a line for each [Fact]
// about the job: its inputs, its options, the version of the program. The header ends with a
// seal. Every line after it is a [Record] with a seal of its own.
//
//	amn.journal/1
//	f "version" "v0.1.0"
//	h SEAL
//	r TASK LO HI COUNT COUNT COUNT COUNT FILE OFFSET LENGTH SHA-256 ... SEAL
//	e TASK LO HI COUNT COUNT COUNT COUNT FILE OFFSET LENGTH SHA-256 ... SEAL
//
// # Seals
//
// A seal is an HMAC of the line and the seal before it, under a key of this user. So a line
// that was changed, left out, moved or made by another user is noticed, and so is a journal
// that came with a downloaded folder. All lines after it are dropped: a machine that
// stopped in the middle of a line leaves such a journal, and no record that is missing makes an
// output wrong, because its range is written again.
//
// Seals say who wrote the journal. Whether the output still has the bytes is for the caller to
// check, with the digests of the records.
//
// # Limits
//
// A line has at most 64 KiB, which is charged while the journal is read. Texts of the header
// are charged as they are kept. Each line is a step.
package journal
