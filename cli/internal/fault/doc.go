// Package fault is what goes wrong in a run: wrong usage, files that are missing, signals and
// deadlines; the class that each has, and how it is told, with the flag that changes it.
package fault
