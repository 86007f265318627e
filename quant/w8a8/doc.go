// Package w8a8 is signed bytes under scales, as compressed-tensors and Quark store them.
package w8a8
