// Package wrap opens what models are packed in, one layer at a time: archives (ZIP,
// tar) and compressed streams (gzip, zlib, bzip2, zstd, xz, LZMA). It extracts nothing: each
// content is read where it stands, or inflated again as often as it is read.
//
// # What must hold
//
//   - All readers see the same contents: names are relative paths that mean one file,
//     and stand once; between and behind them lies nothing; an archive's second
//     statements of a size or a name agree with the first.
//   - A stream ends where its file does, and its checksum is right. Every frame of
//     zstd is data; headers, index and end of an xz stream agree with its blocks.
//   - ZIP is read as package zip reads it.
//
// What no model is packed as is refused by name: sparse files, devices, encrypted
// members, dictionaries, filters of xz, lz4, 7z. Links are named and never followed.
//
// # Order
//
// [Sniff] looks at the first bytes. [Walk] goes through a wrapper once from its
// beginning to its end and gives each content as a reader. A stream is inflated once
// to its end before it is given, so that its size and its checksum are known; what
// is read of it later is in memory or inflated again from the beginning. Every read
// moves on through the file, or pays for the way back.
//
// # Limits
//
//	MaxItems         one per content
//	MaxTotalBytes    up to 16 MiB of what was inflated last, and the decoder's tables;
//	                 the dictionary of LZMA as far as it is filled
//	MaxInflateRatio  each stream and all together while they are read, and all
//	                 layers against the size of the outermost file
//	MaxSteps         one per 64 bytes that are inflated, each time that they are;
//	                 one per 512 bytes of a tar
//	MaxDepth         the caller's: [MaxLayers] at most
//
// # Not supported
//
// lz4, lzip, 7z, RAR; archives in several parts; encryption.
package wrap
