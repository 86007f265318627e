// Package modelopt is ModelOpt: its integers, the scale of a weight's inputs, and the keys of
// its configuration.
package modelopt
