// Package wire is the base of every binary parser: a bounded cursor over an
// [io.ReaderAt], checked arithmetic on numbers from a file, the error struct, and the
// quoting of text from a file.
//
// A length in a file yields a child cursor ([Cursor.Sub]); code that holds the child
// cannot read beyond it. A number from a file stays uint64 until [Int] or a comparison
// has bounded it.
package wire
