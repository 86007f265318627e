// Package edit reads what a user wants the metadata of a GGUF file to be: a JSON
// object, or single keys with a text, laid over what a model has.
//
// Order: [Metadata] reads the members of the object in their order, each through
// strictjson once, and the value of one that names its kind twice; strictjson's
// own proof covers both.
//
// Limits:
//
//	MaxItems        what strictjson charges
//	MaxTotalBytes   56 bytes per key, and the elements of arrays
//	MaxSteps        what strictjson charges
//
// Not supported: arrays of arrays, null.
package edit
