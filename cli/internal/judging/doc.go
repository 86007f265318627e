// Package judging makes a command a step of a pipeline: the files that lists and patterns choose,
// a gate's verdict about each, reports in the forms of other programs, and a baseline.
package judging
