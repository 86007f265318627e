// Package hqq is HQQ, whose weights have every property as a tensor of its own.
package hqq
