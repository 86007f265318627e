// Command cost searches for the inputs that cost most: processor seconds for each megabyte,
// and for each step that the account was charged.
//
//	go run ./crosscheck/cost -time 10m
//
// It begins with every recipe and seed of the corpus and with the shapes in shapes.go,
// changes them (most changes repeat a part until the file is large), runs every command
// on the result, and keeps what is dearest for each command and format.
//
// # The bounds
//
// A command may take one second for each megabyte of the file, at least one, and a tenth
// of a second for each megabyte that it inflates. A step may cost three times the median
// of the seeds that take at least five milliseconds: else MaxSteps bounds nothing.
//
// The processor's time is that of this process, so that others on the machine disturb it
// little. The dearest are measured again at the end, each alone.
package main
