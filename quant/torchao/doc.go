// Package torchao is the tensors of TorchAO, which the file's metadata describes.
package torchao
