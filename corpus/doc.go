// Package corpus is the project's collection of files: hostile ones as readable
// recipes, each with the class and the offset that a decoder must answer with,
// and honest ones that the reference libraries wrote.
//
// README.md describes the recipe language. The package imports nothing of this
// module: a recipe must not share a mistake with the code that it tests.
//
// It may be used to test other loaders: [Hostile] and [Valid] return the files, and the
// program amn-corpus writes them to a folder.
package corpus
