// Package hdf5 reads the datasets of HDF5 files as h5py, Keras, PyTables and MATLAB write
// them, and proves that all groups, datasets and attributes are of the file itself.
//
// Format: HDF5 File Format Specification 3.0: superblocks 0 to 3, object headers 1 and 2,
// groups as symbol tables, as messages and in fractal heaps, all indexes of chunks.
//
// # Names
//
// A dataset has the path that h5py gives it, without the first slash: layers/dense/vars/0.
// One that has several names is listed under each, and shares its bytes. Groups have one
// name. The order is that of h5py's visititems: by name, what is in a group after it.
//
// # Data
//
// Contiguous and compact data are read from the file at any offset. Chunks are read in order,
// as rows of the array; those that were never written have the dataset's fill value. Numbers
// keep their byte order. Booleans and complex numbers are those of h5py; an enumeration is its
// integers, an array type adds its dimensions to the shape. Texts, references, lists of
// variable length and compound types are listed only.
//
// # Rules
//
//   - No link leads to another file, and no data lie in one: no external link, no list of
//     external files, no virtual dataset.
//   - Each structure begins with its signature, lies in the file, has the checksum that it
//     states, and is part of one other only.
//   - Lists that the library searches by bisection are in order: names in groups, hashes,
//     chunks.
//   - Data are as long as shape and type require, and no two datasets share a part of them.
//   - Filters are those of the library and of h5py: it loads others from plugins.
//   - What precedes the file for its user is a text, or the header of MATLAB, and zeros.
//
// # Order
//
// The superblock leads to the root group, a group to its members, in order, a dataset to its
// chunks; then the places of all data are compared. Each structure is read once, by its address:
// that bounds the work.
//
// # Limits
//
//	MaxItems         one per object, structure, name, attribute that is a text, and chunk
//	MaxSteps         one per message, record and entry, and per 64 bytes of a checksum
//	MaxDepth         one per type in a type and per level of a tree
//	MaxTotalBytes    addresses, names, texts of the root, the list of chunks; for a body, the
//	                 chunks along the first axis, and two more
//	MaxInflateRatio  chunks, by the bytes stored and those that shape and type require
//	MaxExpandRatio   data of all datasets, by shape and type
//
// # Not supported
//
// Soft links; a group with two names; messages that are stored elsewhere, such as named types;
// layouts before version 3; bytes without a type. Chunks through SZIP, N-bit or scale-offset are
// listed, and refused when they are read.
package hdf5
