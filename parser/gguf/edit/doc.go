// Package edit changes the metadata of a GGUF file: a JSON object, or single keys
// with a text, replace or extend the keys of a model.
//
// Order: [Metadata] reads the members of the object in order, each once. A value
// that names its own type is read a second time. Package strictjson proves that both
// passes end.
//
// Limits:
//
//	MaxItems        as strictjson charges
//	MaxTotalBytes   56 bytes per key, and the elements of arrays
//	MaxSteps        as strictjson charges
//
// Not supported: arrays of arrays, null.
package edit
