// Package asm is the arithmetic of decoding: for each block type and each way
// in which codes meet their scales one scalar function, which is the
// specification, and kernels for the processors that have vectors.
//
// [Ops] is the table of what one level has; [For] fills it, worst level first,
// and what a level lacks the scalar function does. All levels give the same
// bits. [Best] is the table of the machine that runs.
//
// Numbers are written little-endian and rounded once, to nearest and ties to
// even. A NaN leaves every function as 7FC0, 7E00 or 7FC00000.
//
// # Bad input
//
// Kernels trust their callers with lengths, so no caller has one in hand: each
// entry has one method of [Ops], which checks all lengths once per call and
// panics with "internal error:" before anything is read or written.
//
// The kernels are written by programs, _gen/amd64 and _gen/arm64; the build tag
// purego leaves them out.
//
// # AVX-512
//
// The level wants F, BW, VL, DQ and VBMI. A processor that has AVX512_BF16 too
// has a level above it: kernels to BF16 that are the same but for one instruction
// that rounds. It takes subnormal numbers for zero, so they are those of blocks
// whose scales are float16, and of runs whose scales are looked at before.
//
// A level has a kernel where it is at least 1.2 times as fast as the level below on
// what models store. Kernels of blocks stop in front of a block whose scales are not
// finite, and [Ops.Blocks] decodes it another way. Kernels of runs have a second body,
// in double precision, for scales that models do not have: infinite, NaN, or so small
// that numbers would be subnormal.
//
// What has not been run is not shipped, so `make avx512` runs the tests on a
// processor that has it, or else in Bochs: _emu/run puts the test binary, a
// kernel of Debian's and _emu/main.go, which is its first process, on a disk, and
// reads the status off the serial line. There the variable LEVELS names the
// levels that the tests run.
package asm

//go:generate go -C _gen/amd64 run . -pkg asm -out ../../kernels_amd64.s -stubs ../../kernels_amd64.go -rows ../../rows_amd64.go
//go:generate go -C _gen/amd64 run . -level avx512 -pkg asm -out ../../kernels_avx512_amd64.s -stubs ../../kernels_avx512_amd64.go
//go:generate go -C _gen/amd64 run . -level avx512bf16 -pkg asm -out ../../kernels_bf16_amd64.s -stubs ../../kernels_bf16_amd64.go
//go:generate go -C _gen/arm64 run . -out ../../kernels_arm64.s -stubs ../../kernels_arm64.go
