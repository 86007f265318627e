//go:build unix && !linux

package clamd

// pathOnly is a flag of Linux.
const pathOnly = 0
