// Package hdf5 checks the structure of an HDF5 file as h5py and Keras write it: all groups,
// datasets and attributes that a reader can reach are of the file itself. It decodes no
// data.
//
// Format: HDF5 File Format Specification 3.0 and the library's own code (2.0). The oldest form,
// which h5py writes unless it is asked for another: superblock 0 or 1, object headers of
// version 1, groups as symbol tables. The newer form, of libver="latest" and track_order:
// superblock 2 or 3, object headers of version 2, links and attributes as messages or in
// fractal heaps with their indexes, layouts up to version 5. At most 2 KiB of zeros may precede
// the file, as h5py's userblock_size writes them.
//
// # Rules
//
//   - No link leads to another file, and no data lie in one: no external link, no list of
//     external files, no virtual dataset.
//   - Each structure begins with its signature and lies in the file; its checksum, if the
//     format has one, is that of its bytes.
//   - Links and attributes in a heap are those of both indexes, by name and by age.
//   - Data that are not in chunks are as long as shape and type require.
//   - Filters are those of the library and of h5py, because the library loads others by
//     their number from plugins.
//   - Attributes that are one text are given to the caller.
//
// # Order
//
// The superblock leads to the root group, a group to its members. Each object is visited
// once, by the address of its header, in the order in which it is found.
//
// # Limits
//
//	MaxItems        one per object and per node of a group
//	MaxSteps        one per message and per entry of a group or a heap
//	MaxTotalBytes   the addresses of objects and of parts of heaps, names of members, messages of attributes
//	MaxExpandRatio  data of all datasets, by shape and type
//
// # Not supported
//
// An extension of the superblock (paged files, shared messages); heaps with filters; soft
// links; references; types that are shared; lists of variable length.
package hdf5
