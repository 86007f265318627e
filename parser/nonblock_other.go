//go:build !unix

package parser

const nonblock = 0
