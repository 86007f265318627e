// Package jsonout writes the program's JSON: objects field by field, in the order of the calls,
// each in one line.
package jsonout
