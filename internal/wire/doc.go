// Package wire is what every binary parser stands on: a bounded cursor over an
// [io.ReaderAt], checked arithmetic on numbers that a file states, the one
// error struct, and the one way in which text from a file reaches a person.
//
// A length in a file yields a child cursor ([Cursor.Sub]); code that holds the
// child cannot see beyond it. A number from a file stays uint64 until [Int] or
// a comparison has bounded it.
package wire
