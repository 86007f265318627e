// Package bitnet is BitNet's ternary weights and the keys of its configuration.
package bitnet
