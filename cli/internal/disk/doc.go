// Package disk is the program's own files: those that its flags name, to be read, or to be
// written once everything is there.
package disk
