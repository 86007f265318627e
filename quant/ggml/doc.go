// Package ggml is the block types of ggml, which hold their own scales.
package ggml
