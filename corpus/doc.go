// Package corpus is the project's collection of files: hostile ones as readable recipes,
// each with the class and the offset of the error that a decoder must return, and honest
// ones that the reference libraries wrote.
//
// README.md describes the recipe language. The package imports nothing of this module: a
// recipe must not share a mistake with the code that it tests.
//
// It can be used to test other loaders: [Hostile] and [Valid] return the files, and the
// command amn-corpus writes them to a folder.
package corpus
