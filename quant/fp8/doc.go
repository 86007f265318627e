// Package fp8 is 8-bit floats under scales of tensors, rows, columns, groups and blocks, by
// all names that libraries give them.
package fp8
