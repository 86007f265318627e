// Package gptq is GPTQ: codes packed along the inputs, both versions of zero points, the order
// of inputs, and the keys of its configuration.
package gptq
