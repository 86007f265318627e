// Package zip reads ZIP archives, the container of npz files and PyTorch checkpoints. It
// refuses every archive that two readers could interpret differently.
//
// It follows PKWARE's APPNOTE.TXT 6.3.10 for stored and deflated members, with
// ZIP64, data descriptors and the padding that PyTorch puts into extra fields.
// Everything else is refused by name.
//
// # Rules
//
//   - A local header or, for an empty archive, the end record is at offset 0.
//   - The end record ends the file; its comment is exactly as long as it says.
//     The ZIP64 end record, if there is one, precedes it and agrees with it.
//   - The directory lies right before the end records. The local entries tile
//     the bytes before it: header, extra fields, data, descriptor, with no gap
//     and no overlap.
//   - Local header, descriptor and directory agree on name, method, flags,
//     sizes and CRC. Flag bits are a subset of 0x80e; the deflate hints (0x6)
//     occur with method 8 only, unless the policy grants [QuirkHints].
//   - Names are relative UTF-8 paths without "..", backslash, NUL or control
//     characters. They are unique even without regard to case.
//   - A stored member is as long inflated as it is in the file. A deflated one
//     inflates to exactly the declared bytes from exactly the declared bytes.
//
// # Order
//
// [Decode] goes through these stages: magic, end record, ZIP64 end record,
// directory (one step per entry), order and duplicates, local headers (one step
// per member). Each step moves on by at least the 46 bytes of a directory entry
// or by one member, so the number of steps is bounded by the size of the file.
// Decode reads the end record, the directory, and one piece per member: the
// descriptor of the member before it and its local header, with at most 12 bytes of
// its data. Inflating ends when the compressed bytes that the directory states are used
// up.
//
// # Limits
//
//	MaxItems         one per member
//	MaxTotalBytes    56 bytes and the name per member, 8 to 16 for the check for
//	                 duplicates, buffers of at most 340 KiB; 80 KiB while a
//	                 deflated member is open, 64 KiB during Verify
//	MaxInflateRatio  each deflated member's declared sizes, at Decode
//	MaxSteps         at most nine per member and two per extra field
//
// # Not supported
//
// Encryption, archives over several disks, methods other than 0 and 8, ZIP64
// extensible data, descriptors without signature, patches, masked directories,
// Unicode path fields, symbolic links and other special files.
package zip
