// Package onnx is the weights that operators of an ONNX model make numbers of: DequantizeLinear
// of models in QDQ form, MatMulNBits and GatherBlockQuantized of ONNX Runtime.
//
// The graph says which tensors are codes, scales and zero points, so no name is guessed. A number
// is (q - z)*s in float32, rounded once to the type of the scales, as ONNX Runtime computes it on
// a processor. The weight keeps the name of its codes, without what the quantizer added to it, and
// their shape: a matrix of MatMulNBits is [N, K], as it is stored.
//
// Codes that an operator reads which is not one of these are refused by its name.
package onnx
