// Package compressed is compressed-tensors: packed integers, bit masks, and what its
// configuration may say, which other schemes ask too.
package compressed
