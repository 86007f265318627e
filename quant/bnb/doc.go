// Package bnb quantizes as bitsandbytes does: numbers to NF4, FP4 or INT8 codes and
// their scales, with the bytes of the library's CPU build. It also makes the texts and
// tables that the library stores beside them.
//
// A [Quantizer] takes a tensor in ranges of whole blocks, [EncodeInt8] in whole
// rows. [EncodeNested] quantizes the scales; their [Mean] is computed as torch does it.
// The encoders allocate nothing and are safe for concurrent use. They refuse numbers
// that are not finite; see [NotFinite].
//
// The goldens are in quant/bnb/testdata/encode; the tables are written by
// quant/_gen/bnb_tables.py.
package bnb
