// Package targets names what weights are quantized to.
package targets
