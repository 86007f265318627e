// Package npz reads NumPy's archives of arrays: ZIP files whose members are npy
// files, as numpy.savez and numpy.savez_compressed write them.
//
// The name of an array is the member's without ".npy". Stored members are read
// at any offset; deflated ones in order only, and [File.At] says false for
// them. An empty archive, 22 bytes, is legal.
//
// A member that is no array is read, if it is not longer than 1 MiB. A note (what
// package unwrap calls harmless: a text, an image) is listed under the key
// "npz.members" of Meta, with a finding; the policy's RefuseUnknownMembers refuses
// it. Anything else, a pickle or an archive among them, refuses the file. NumPy
// goes by the first bytes of a member and by its name, so both must agree: a
// member without ".npy" that begins like an array is refused, and so is one with
// ".npy" that does not.
//
// # Order
//
// [Decode] reads the archive as package zip does, then the header of each
// member: one step per member, and what package npy needs for its header. No
// data is read but what shares a read with a header: 128 bytes of a stored
// member, 16 KiB of a deflated one.
//
// [File.Verify] reads every member: CRC, real lengths.
//
// # Limits
//
// Those of packages zip and npy. One inflater, 80 KiB, is leased while deflated
// headers are read, and one for each open Body of a deflated member.
//
// # Not supported
//
// What packages zip and npy do not read. Object arrays: all members are looked
// at, then the file is refused as forbidden, naming the arrays.
package npz
