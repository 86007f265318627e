// Package view has the commands that show what a model is: inspect, parse, stats, and view in the
// terminal.
package view
