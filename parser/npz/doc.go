// Package npz reads NumPy's archives of arrays: ZIP files whose members are npy
// files, as numpy.savez and numpy.savez_compressed write them.
//
// The name of an array is the member's without ".npy". Stored members are read
// at any offset; deflated ones in order only, and [File.At] says false for
// them. An empty archive, 22 bytes, is legal.
//
// A member that is not an array is read if it has at most 1 MiB. If its content is
// harmless (a text, an image; see package polyglot), it is listed under the key
// "npz.members" of Meta with a finding, which the policy's RefuseUnknownMembers
// turns into a refusal. Any other content, such as a pickle or an archive, makes the
// file refused. NumPy looks at the first bytes of a member and at its name, so both
// must agree: a member without ".npy" that begins like an array is refused, and so
// is one with ".npy" that does not.
//
// # Order
//
// [Decode] reads the archive as package zip does, then the header of each
// member: one step per member, plus the steps of package npy for its header. The
// first read of a member takes 128 bytes if it is stored and 16 KiB if it is
// deflated; no other data is read.
//
// [File.Verify] reads every member and checks its CRC and its real length.
//
// # Limits
//
// Those of packages zip and npy. One inflater, 80 KiB, is leased while deflated
// headers are read, and one for each open Body of a deflated member.
//
// # Not supported
//
// Everything that packages zip and npy do not support. Object arrays: after all members have
// been read the file is refused as forbidden, and the error names the arrays.
package npz
