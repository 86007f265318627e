// Package tflite is the weights of models of TensorFlow Lite, whose tensors say by themselves how
// their codes are read.
//
// A number is (q - z)*s, as the reference kernel of LiteRT's operator DEQUANTIZE computes it: in
// float64 or float32, which round to the same float32, since codes less their zero points are exact
// in both. LiteRT's optimized kernel for UINT8 and one scale multiplies before it subtracts, and
// differs from that, and from XNNPACK, in the last bit. There is
// one scale for the tensor, or one for each index of an axis. Biases of 32 bits, of which the runtime
// itself never makes numbers, are decoded by the same formula, the code rounded to float32 first.
package tflite
