// Package forms makes models of models: with the names, the order of rows, the stacks and
// the files that another library reads.
//
// [LlamaCPP] converts a transformers folder to what llama.cpp runs, [Transformers] converts
// back, and [MLX] converts to what mlx-lm runs. No tensor is read: package internal/family
// plans each, and the types of internal/model compute it when package convert reads it.
package forms
