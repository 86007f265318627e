// Package unpack opens the wrappers of models, one layer at a time: archives (ZIP, tar) and
// compressed streams (gzip, zlib, bzip2, zstd, xz, LZMA). It extracts nothing: a member is
// read in place, or inflated again each time it is read.
//
// # Rules
//
//   - All readers see the same members: names are relative paths, each for one file and
//     unique; there are no bytes between or after the members; where an archive states a
//     size or a name twice, both agree.
//   - A stream ends where its file does, and its checksum is right. Every frame of
//     zstd is data; headers, index and end of an xz stream agree with its blocks.
//   - ZIP is read as package zip reads it.
//
// Features that no model uses are refused by name: sparse files, devices, encrypted
// members, dictionaries, filters of xz, lz4, 7z. Links are reported and never followed.
//
// # Order
//
// Package parser tells by the first bytes which kind a wrapper is. [Kind.Walk] goes through
// it once, from beginning to end, and gives each member as a reader. A stream is first inflated to its end, to know
// its size and check its sum; later reads are served from memory or inflate it again from
// the beginning. Every read advances through the file, or is charged for starting again.
//
// # Limits
//
//	MaxItems         one per member
//	MaxTotalBytes    up to 16 MiB of the bytes inflated last, and the decoder's tables;
//	                 the part of LZMA's dictionary that is filled
//	MaxInflateRatio  each stream and all together while they are read, and all
//	                 layers against the size of the outermost file
//	MaxSteps         one per 64 inflated bytes, each time they are inflated;
//	                 one per 512 bytes of a tar
//	MaxDepth         set by the caller: at most [MaxLayers]
//
// # Not supported
//
// lz4, lzip, 7z, RAR; archives in several parts; encryption.
package unpack
