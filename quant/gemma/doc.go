// Package gemma is the integers of Gemma's own quantization and the keys of its
// configuration.
package gemma
