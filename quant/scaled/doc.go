// Package scaled quantizes matrices of linear layers to 8-bit floats and to
// integers under scales, with the arithmetic of the libraries that load them.
//
// # Two arithmetics
//
// [Format.Inverse] is transformers' FP8 of DeepSeek's layout. With a = the largest
// magnitude of a block and every step rounded to float32:
//
//	r = (1/a)*448; code = E4M3(x*r); scale = 1/r    (r = 1 where a is 0)
//
// The others are compressed-tensors' symmetric ones. Every step is rounded to
// float32 and then to the type D of the model's weights, as torch does it:
//
//	scale = D(a/h); code = round(clamp(D(x/scale)))
//
// where h is half the width of the range: 448 for E4M3, 127.5 for 8 bits, 7.5 for
// 4 bits. A scale of 0 becomes the distance of 1 to the next number of D. Ties go to
// the even code. The rule for the scale is the library's for a min-max observer.
//
// # Groups
//
// [Groups] are formats whose numbers share scales along a row: compressed-tensors' MX
// formats, NVFP4 and integers with zero points, ModelOpt's NVFP4, the experts of
// gpt-oss, MLX's integers and small floats, and the layouts of GPTQ and AWQ with codes that are rounded to
// nearest. Each has a rule with its library's arithmetic on a processor, which
// crosscheck/groups.py compares. Two things are not the library's: an exponent that
// MLX' byte cannot say is the smallest one, where MLX wraps around, and a matrix of
// zeros has the scale 1 in ModelOpt's NVFP4, where ModelOpt stores NaN.
//
// # Not supported
//
// Numbers that are not finite, and blocks whose reciprocal scale is infinite.
package scaled
