// Package leveldb reads tables of LevelDB, the sorted files of keys and values in which TensorFlow
// keeps the index of a checkpoint: blocks of entries, a block with the place of each, and a
// footer.
//
// Format: LevelDB's table format (doc/table_format.md), as tensorflow/core/lib/io writes and reads it.
// syndtr/goleveldb has a reader of such tables; it allocates what a block states before anyone
// can object, and it believes the index and the restarts, which tell a reader that looks for one key
// another story than one that lists them all. This one charges first and proves that they agree.
//
// # Rules
//
//   - The blocks follow each other from the first byte of the file to its footer.
//   - Each block has the checksum that is stated behind it.
//   - Keys ascend, and those of the index lie between the blocks.
//   - The restarts of a block are entries that share nothing with the one before, in order.
//   - Compressed bytes are Snappy's, and not those of S2, which Snappy's own reader refuses.
//
// # Order
//
// The footer; the block of statistics, which is empty; the index; each block in turn, entry by entry.
// Every entry has at least three bytes.
//
// # Limits
//
//	MaxTotalBytes    two blocks at a time, and the keys of both
//	MaxSteps         one per entry, and per 64 bytes of a block
//	MaxInflateRatio  compressed blocks
//
// # Not supported
//
// Filters, compression by zstd, and more than one version of a key.
package leveldb
