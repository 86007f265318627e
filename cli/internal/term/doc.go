// Package term is what the program knows of a terminal: its width, its keys and its colours,
// text that is cut and wrapped to it, and sizes, counts, names and paths as people read them.
package term
