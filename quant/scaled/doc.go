// Package scaled quantizes matrices of linear layers to 8-bit floats and to
// integers under scales, with the arithmetic of the libraries that load them.
//
// # Two arithmetics
//
// [Format.Inverse] selects transformers' FP8 in DeepSeek's layout. Let a be the largest
// magnitude of a block; every step is rounded to float32:
//
//	r = (1/a)*448; code = E4M3(x*r); scale = 1/r    (r = 1 where a is 0)
//
// All other formats use compressed-tensors' symmetric arithmetic. Every step is rounded
// to float32 and then to the type D of the model's weights, as in torch, unless
// [Format.Precision] says that a step is rounded to float32 alone:
//
//	scale = D(a/h); code = round(clamp(D(x/scale)))
//
// where h is half the width of the range: 448 for E4M3, 127.5 for 8 bits, 7.5 for
// 4 bits. A scale of 0 is replaced by the machine epsilon of D. Ties go to the even
// code. The scale is that of the library's min-max observer.
//
// # Groups
//
// [Groups] are formats whose numbers share scales along a row: compressed-tensors' MX
// formats, NVFP4 and integers with zero points, ModelOpt's NVFP4, the experts of
// gpt-oss, MLX's integers and small floats, and the layouts of GPTQ and AWQ with codes
// rounded to nearest. Each follows the arithmetic of its library on a CPU;
// crosscheck/groups.py compares the bytes. There are two exceptions. An exponent below
// the range of MLX's byte becomes the smallest one, where MLX wraps around. A matrix of
// zeros gets the scale 1 in ModelOpt's NVFP4, where ModelOpt stores NaN.
//
// # Not supported
//
// Numbers that are not finite, and blocks whose reciprocal scale is infinite.
package scaled
