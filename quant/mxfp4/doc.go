// Package mxfp4 is 4-bit floats in groups of 32 under exponents, by all names that libraries
// give them.
package mxfp4
