// Package write has the commands that write a model: dequantize, quantize, convert, edit, merge,
// merge-lora, split and join. Each describes a conversion, which one engine plans, carries out and
// prints.
package write
