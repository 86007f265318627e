// Package fault has the errors of a run: wrong usage, missing files, signals and deadlines; the
// class of each, and its message, with the flag that changes it.
package fault
