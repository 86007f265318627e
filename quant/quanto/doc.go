// Package quanto is optimum-quanto: bytes, and packed codes whose rows files do not always
// tell.
package quanto
