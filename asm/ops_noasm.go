//go:build purego || (!amd64 && !arm64)

package asm

func features() Features { return 0 }

func (o *Ops) arch(Features) {}
