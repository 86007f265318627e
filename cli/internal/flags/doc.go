// Package flags has the flags and arguments that several families of commands share.
package flags
