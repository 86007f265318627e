// Package nvfp4 is 4-bit floats in groups of 16 under E4M3 scales and a global one, by all
// names that libraries give them.
package nvfp4
