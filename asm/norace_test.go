//go:build !race

package asm

const raced = false
