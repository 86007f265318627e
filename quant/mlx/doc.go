// Package mlx is MLX's quantization: words of integers or small floats, the modes of modules,
// and the stacks of experts of mlx-lm in the form of transformers.
package mlx
