// Package awq is AWQ: the layouts of AutoAWQ's kernels, and the keys of its
// configuration.
package awq
