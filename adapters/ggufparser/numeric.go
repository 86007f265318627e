package gguf_parser

import upstream "github.com/gpustack/gguf-parser-go"

// A Number is any number.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

// ValueNumeric is a number of any type as T; it panics if the value is no number.
func ValueNumeric[T Number](kv GGUFMetadataKV) T { return upstream.ValueNumeric[T](kv) }

// ValuesNumeric is an array of numbers of any type as []T; it panics if they are none.
func ValuesNumeric[T Number](av GGUFMetadataKVArrayValue) []T {
	return upstream.ValuesNumeric[T](av)
}
