// Package bnb quantizes as bitsandbytes does: numbers to NF4, FP4 or INT8 codes
// and their scales, the bytes of the library's CPU build, and the texts and tables
// that it stores beside them.
//
// A [Quantizer] takes a tensor in ranges of whole blocks, [EncodeInt8] in whole
// rows; [EncodeNested] quantizes the scales, whose [Mean] is that of torch. The
// encoders allocate nothing and are safe for concurrent use. They refuse numbers
// that are not finite, see [NotFinite].
//
// The goldens are in testdata/quant/encode; the tables are written by
// quant/_gen/bnb_tables.py.
package bnb
