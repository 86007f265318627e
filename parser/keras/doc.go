// Package keras reads the weights of models that Keras 3 saves: a ZIP archive with
// metadata.json, config.json and model.weights.h5, which is an HDF5 file.
//
// # Names
//
// A weight has its path in model.weights.h5, as package hdf5 gives it: layers/dense/vars/0.
// Its span is a part of the archive.
//
// # Rules
//
//   - The archive is one that package zip proves, with the two texts and the weights, each of
//     them once and at the top: Keras opens them by these names.
//   - The weights are stored, not deflated, as Keras writes them: HDF5 is read at any offset.
//   - The weights are an HDF5 file that package hdf5 proves. An error in it is placed in the
//     archive.
//
// What the configuration makes Keras do is not judged here, nor are the other members: none
// of them is read. [File.Verify] checks the CRC of each.
//
// # Order
//
// First the archive, as in package zip; then its members by name, one step each; then the
// weights, as in package hdf5.
//
// # Limits
//
// Those of packages zip and hdf5.
//
// # Not supported
//
// Deflated weights; weights in model.weights.npz.
package keras
