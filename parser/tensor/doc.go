// Package tensor holds the types that every layer shares: element types and
// their geometry, the description of one tensor, findings, and the Model that
// a parser returns.
//
// It is a leaf: it knows no container and no quantization scheme. A container
// describes what is stored and never transposes, swaps or converts it.
package tensor
