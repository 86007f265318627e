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
// The package is for this module alone: it exports what other packages of the module
// use, and may change with them.
//
// # Bad input
//
// Kernels trust their callers with lengths, so no caller has one in hand: each
// entry has one method of [Ops], which checks all lengths once per call and
// panics with "internal error:" before anything is read or written.
//
// The kernels are written by programs, _gen/amd64 and _gen/arm64; the build tag
// purego leaves them out. In _gen/amd64 emit has what all levels share, avx2 is the
// kernels of 32-byte registers, a file for each technique, and zmm is what those of 64-byte
// registers have in common, whose techniques are packages: blocks, and runs and casts. encode is
// what runs are encoded by and rows the encoders of whole rows, in registers of either kind; what few
// models are written as has rows of 32 bytes alone, which AVX-512 shares.
//
// # Which kernels there are
//
// A kernel exists for what published models store and what our encoders write, and
// stays if it is at least 1.2 times as fast as the level below it on ordinary data, from and to
// caches, on one of the processors that were measured. By PERFORMANCE.md a test holds blocks and
// runs to that; joins of a run that have no row there go with one whose loop takes as long.
// From memory most types come as fast with AVX2 as plain stores write.
// Data is ordinary if its scales are such as models have: finite, and so large that no
// factor, product or sum is a subnormal number, which holds up a multiplication for a
// hundred cycles. All other data is hostile, and takes one exact way for each
// technique, which may take three times as long:
//
//   - blocks: the kernel stops in front of the block, and [Ops.Blocks] has the level
//     below decode some, or decodes them to float32 and rounds that;
//   - runs: a loop of products enlarged by 2^128, or a table in double precision; a kernel
//     of AVX-512 stops in front of bytes and small floats, and the level below decodes some;
//   - columns: products in double precision, by way of float32.
//
// # Words
//
//   - block: what ggml calls so, some numbers with their scales and codes
//   - run: consecutive codes under one scale, and perhaps a zero point or a minimum
//   - chunk: the codes that a kernel takes at once, 32 or 64
//   - group: 16 or 32 numbers of a block of 256 that share a scale; a round is the
//     groups of one pass of a loop
//   - codebook: the sixteen numbers that codes of four bits stand for
//   - table: the products of a codebook and a scale, which codes then look up
//   - exact: the way of scales that are not ordinary
//   - negated scale: in place of the scale, so that every NaN of a product is FFC00000,
//     and one addition rounds and changes the sign
//   - quads: the order of codes in a register of 32, eight elements each: 0, 2, 1, 3.
//     Instructions that unpack within the halves of a register then give them in order.
//
// # A kernel, from block to numbers
//
// q6_KBF16AVX2 is Q6_K to BF16. A block has 210 bytes: at 0 the low four bits of 256
// codes, at 128 their high two bits, at 192 sixteen signed scales, at 208 a float16 d.
// A number is d*scale*(code-32).
//
// Before the loop constants come to registers: the masks 0F and 30, pairs of words 1, 0
// and 0, 1, and 80007FFF. For each block d is widened and multiplied with the sixteen scales,
// divided by -256: the exact products, negated, lie in memory aligned to 32 bytes. The
// product of a float16 and eight bits has 19 bits, so nothing is rounded yet.
//
// Then come two rounds of four groups of 32 numbers. A round reads 64 bytes of low bits
// and 32 of high bits, each register once, in quads. Group i takes the nibbles of
// register i%2, shifted by 0 or 4, and two bits, shifted into bits 4 and 5; their sum
// less 32 is 32 signed bytes. The codes of the next group are made before the numbers
// of this one are written.
//
// Bytes unpack to the upper halves of words, which is 256 times the code; VPMADDWD with 1, 0
// and 0, 1 makes dwords of the even and the odd words. They become float32, and VMULPS
// by the group's scale gives the number, negated, with at most 24 bits: exact. To
// round, 80007FFF or 80008000 is added to its bits, by the lowest bit that stays, so that
// ties go to even; the carry into the sign undoes the negation, also of a NaN, FFC00000,
// which becomes 7FC0. The even words are shifted down and blended with the odd ones, and
// sixteen numbers are stored. Lines that come in a kilobyte are asked for, since
// stores wait in order.
//
// # AVX-512
//
// The level wants F, BW, VL, DQ and VBMI. It decodes Q8_0, Q4_0, Q5_0, the K types
// and IQ4 to the types of two bytes, casts to them, and encodes: runs, Q8_0, Q4_0, and what
// searches scales, the K types, IQ4 and with a matrix the small types. To float32 it has what its exact
// way needs: Q2_K, Q4_K, Q5_K, IQ4_XS. Of runs it decodes nibbles, bytes and small floats to all types, but
// bytes without a zero point or minimum to float32, where AVX2 is as fast. AVX2 serves all else. The instruction of AVX512_BF16 that
// rounds is not used: it gains 1.2 to 1.4 from caches, and less from memory.
//
// What has not been run is not shipped, so `make avx512` runs the tests on a
// processor that has it, or else in Bochs: _emu/run puts the test binary, a
// kernel of Debian's and _emu/main.go, which is its first process, on a disk, and
// reads the status off the serial line. There the variable LEVELS names the
// levels that the tests run.
package asm

//go:generate go -C _gen/amd64 run . -pkg asm -out ../../kernels_amd64.s -stubs ../../kernels_amd64.go -rows ../../rows_amd64.go
//go:generate go -C _gen/amd64 run . -level avx512 -pkg asm -out ../../kernels_avx512_amd64.s -stubs ../../kernels_avx512_amd64.go -rows ../../rows_avx512_amd64.go
//go:generate go -C _gen/arm64 run . -out ../../kernels_arm64.s -stubs ../../kernels_arm64.go
