//go:build race

package asm

const raced = true
