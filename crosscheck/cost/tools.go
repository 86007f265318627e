package main

import (
	"bytes"
	"os/exec"
)

// packedBy compresses with a program of the system, where it has it.
func packedBy(name string, args ...string) func([]byte) []byte {
	return func(p []byte) []byte {
		c := exec.Command(name, args...)
		c.Stdin = bytes.NewReader(p)
		out, err := c.Output()
		if err != nil {
			return p
		}
		return out
	}
}
