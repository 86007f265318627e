// Package disk reads and writes the files that flags of the program name: lists, policies and
// keys; reports, which get their names when they are complete.
package disk
