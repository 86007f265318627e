package quant

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

type gridOf = grid

// directForms are forms that have kernels, of 96 rows.
func directForms() map[string]struct {
	form
	cols int64
} {
	type named = struct {
		form
		cols int64
	}
	f32 := numbers[tensor.F32]
	grid := func(rows, cols, blockRows, blockCols int64) grid {
		return grid{matrixRows: rows, blockRows: blockRows, blockCols: blockCols, cols: ceilDiv(cols, blockCols), size: 4, read: f32}
	}
	second := grid(96, 256, 1, 64)
	of := func(g gridOf, d tensor.DType, size int64) gridOf { // as numbers of a type, many at once
		g.read, g.bulk, g.size = numbers[d], bulkOf(d), size
		return g
	}
	sixteenth, twentieth := grid(96, 256, 1, 16), grid(96, 200, 1, 20)
	zeros4, zeros3, loose5 := packedZeroGrid(96, 400, 25, 4, false), packedZeroGrid(96, 400, 25, 3, false), packedZeroGrid(96, 410, 41, 5, true)
	secondBF16 := of(second, tensor.BF16, 2)
	ternary := mixedRows(24*256, 96, func(dst []float32, src []byte, r int64) {
		for c, b := range src[r%24*256:][:256] {
			dst[c] = float32(int32(b>>(2*(r/24))&3) - 1)
		}
	})
	ternary.under = func(o *asm.Ops, to asm.Type, dst, src []byte, u under) bool {
		return underTernary(o, to, dst, src[u.sub%24*256:][:256], uint8(2*(u.sub/24)), u)
	}
	pairs := codes{rowBytes: 256, perRow: 2, pick: func(dst []float32, src []byte, r int64) {
		for c, b := range src[r/2*256:][:256] {
			dst[c] = float32(int8(b>>(4*(r%2))<<4) >> 4)
		}
	}}
	pairs.under = underHalfBytes(func(code uint8) float32 { return float32(int8(code<<4) >> 4) })
	bySixteen, fifth := grid(96, 256, 16, 1), of(grid(96, 250, 1, 50), tensor.I8, 1)
	e4m3Row := of(grid(96, 300, 1, 300), tensor.F8E4M3, 1)
	awqOf := func(bits int64) named {
		return named{&awq{in: 256, out: 96, groups: 4, bits: bits, groupSize: 64, scale: numbers[tensor.F16], scaleSize: 2, bulk: bulkOf(tensor.F16)}, 256}
	}
	swizzled := func(cols, group int64, read number, many bulk) gridOf {
		g := swizzledGrid(96, cols, group, 512*ceilDiv(cols/group, 4), read)
		g.bulk = many
		return g
	}
	readE4M3 := func(p []byte, i int64) float32 { return asm.E4M3.Value(p[i]) }
	blocked := grid(96, 300, 32, 128)
	columnwise := of(gridOf{matrixRows: 96, blockRows: 1, blockCols: 16, cols: 20}, tensor.F16, 2).transposed(96, 96*20*2)
	small := second
	small.size, small.read = 1, numbers[tensor.I8]
	halves := codes{rowBytes: 256, perRow: 2, pick: evenRowLow(bookOf(plusValue)), under: underHalfBytes(plusValue)}
	forms := map[string]named{
		"GPTQ 4 bits":         {&gptq{in: 256, out: 96, groups: 4, bits: 4, groupSize: 64, scale: f32, scaleSize: 4, oldZeros: true}, 256},
		"GPTQ 8 bits":         {&gptq{in: 256, out: 96, groups: 2, bits: 8, groupSize: 128, scale: numbers[tensor.F16], scaleSize: 2}, 256},
		"GPTQ act-order":      {&gptq{in: 512, out: 96, groups: 4, bits: 4, groupSize: 128, scale: f32, scaleSize: 4}, 512},
		"GPTQ act-order of 8": {&gptq{in: 256, out: 96, groups: 4, bits: 8, groupSize: 64, scale: numbers[tensor.F16], scaleSize: 2, bulk: bulkOf(tensor.F16), oldZeros: true}, 256},
		"GPTQ act-order of 3": {&gptq{in: 512, out: 96, groups: 4, bits: 3, groupSize: 128, scale: f32, scaleSize: 4}, 512},
		"GPTQ 3 bits":         {&gptq{in: 256, out: 96, groups: 4, bits: 3, groupSize: 64, scale: numbers[tensor.F16], scaleSize: 2, bulk: bulkOf(tensor.F16), oldZeros: true}, 256},
		"GPTQ 2 bits":         {&gptq{in: 256, out: 96, groups: 4, bits: 2, groupSize: 64, scale: numbers[tensor.BF16], scaleSize: 2, bulk: bulkOf(tensor.BF16), oldZeros: true}, 256},
		"GPTQ 6 bits":         {&gptq{in: 256, out: 96, groups: 4, bits: 6, groupSize: 64, scale: f32, scaleSize: 4, bulk: bulkOf(tensor.F32)}, 256},
		"AWQ of F16":          {&awq{in: 256, out: 96, groups: 4, bits: 4, groupSize: 64, scale: numbers[tensor.F16], scaleSize: 2, bulk: bulkOf(tensor.F16)}, 256},
		"HQQ 4 bits":          {&hqq{cols: 256, total: 256 * 96, bits: 4, width: 64, height: 384, stored: 192, read: f32, size: 4}, 256},
		"HQQ 3 bits":          {&hqq{cols: 256, total: 256 * 96, bits: 3, width: 64, height: 384, stored: 39, read: numbers[tensor.F16], size: 2, bulk: bulkOf(tensor.F16)}, 256},
		"HQQ, ragged rows":    {&hqq{cols: 250, total: 250 * 96, bits: 4, width: 64, height: 375, stored: 188, read: f32, size: 4}, 250},
		"HQQ 3, ragged rows":  {&hqq{cols: 250, total: 250 * 96, bits: 3, width: 64, height: 375, stored: 38, read: f32, size: 4}, 250},
		"HQQ 3 bits, axis 0":  {&hqq{cols: 250, total: 250 * 96, bits: 3, width: 375, height: 64, stored: 7, byColumn: true, read: numbers[tensor.F16], size: 2, bulk: bulkOf(tensor.F16)}, 250},
		"HQQ 4 bits, axis 0":  {&hqq{cols: 250, total: 250 * 96, bits: 4, width: 375, height: 64, stored: 32, byColumn: true, read: f32, size: 4, bulk: bulkOf(tensor.F32)}, 250},
		"HQQ 8 bits, axis 0":  {&hqq{cols: 250, total: 250 * 96, bits: 8, width: 375, height: 64, stored: 64, byColumn: true, read: numbers[tensor.BF16], size: 2, bulk: bulkOf(tensor.BF16)}, 250},
		"HQQ 2 bits":          {&hqq{cols: 256, total: 256 * 96, bits: 2, width: 64, height: 384, stored: 96, read: f32, size: 4}, 256},
		"HQQ 1 bit":           {&hqq{cols: 256, total: 256 * 96, bits: 1, width: 32, height: 768, stored: 96, read: f32, size: 4}, 256},
		"HQQ 8 bits":          {&hqq{cols: 256, total: 256 * 96, bits: 8, width: 128, height: 192, stored: 192, read: f32, size: 4}, 256},
		"BitNet":              {&scaled{cols: 256, op: opDivide, codes: ternary, scales: gridOf{matrixRows: 96, blockRows: 96, blockCols: 256, cols: 1, size: 4, read: f32}}, 256},
		"ternary, multiplied": {&scaled{cols: 256, codes: ternary, scales: gridOf{matrixRows: 96, blockRows: 96, blockCols: 256, cols: 1, size: 4, read: f32}}, 256},
		"ModelOpt 4 bits":     {&scaled{cols: 256, codes: pairs, scales: of(grid(96, 256, 1, 128), tensor.BF16, 2)}, 256},
		"MLX 2 bits":          {&scaled{cols: 256, codes: streamRow(256, 2, 64, 0), scales: secondBF16, seconds: &secondBF16, op: opAffine}, 256},
		"MLX 3 bits":          {&scaled{cols: 256, codes: streamRow(256, 3, 96, 0), scales: secondBF16, seconds: &secondBF16, op: opAffine}, 256},
		"MLX 5 bits":          {&scaled{cols: 256, codes: streamRow(256, 5, 160, 0), scales: secondBF16, seconds: &secondBF16, op: opAffine}, 256},
		"MLX 6 bits":          {&scaled{cols: 256, codes: streamRow(256, 6, 192, 0), scales: second, seconds: &second, op: opAffine}, 256},
		"MLX 4, groups of 16": {&scaled{cols: 256, codes: streamRow(256, 4, 128, 0), scales: grid(96, 256, 1, 16), seconds: &sixteenth, op: opAffine}, 256},
		"MLX 6, groups of 20": {&scaled{cols: 200, codes: streamRow(200, 6, 150, 0), scales: grid(96, 200, 1, 20), seconds: &twentieth, op: opAffine}, 200},
		"packed 3 bits":       {&scaled{cols: 100, codes: streamRow(100, 3, 40, 4), scales: grid(96, 100, 1, 25)}, 100},
		"packed 6 bits":       {&scaled{cols: 256, codes: streamRow(256, 6, 192, 32), scales: grid(96, 256, 1, 256), seconds: &second, op: opShift}, 256},
		"AWQ":                 {&awq{in: 256, out: 96, groups: 4, bits: 4, groupSize: 64, scale: f32, scaleSize: 4}, 256},
		"NF4":                 {&bnb4{cols: 256, block: 64}, 256},
		"NF4 across rows":     {&bnb4{cols: 96, block: 64}, 96},
		"NF4, odd blocks":     {&bnb4{cols: 256, block: 63}, 256},
		"NF4, odd rows":       {&bnb4{cols: 255, block: 64, nested: true, nestedBlock: 16, offset: 0.25}, 255},
		"NF4 nested":          {&bnb4{cols: 256, block: 64, nested: true, nestedBlock: 256, offset: 0.5}, 256},
		"FP4":                 {&bnb4{cols: 256, block: 128, fp4: true}, 256},
		"LLM.int8":            {&bnb8{cols: 200}, 200},
		"FP8 blocks":          {&scaled{cols: 300, codes: float8Row(300, asm.E4M3), scales: grid(96, 300, 32, 128)}, 300},
		"FP8 rows":            {&scaled{cols: 200, codes: float8Row(200, asm.E5M2), scales: grid(96, 200, 1, 200)}, 200},
		"INT8 groups":         {&scaled{cols: 256, codes: int8Row(256), scales: grid(96, 256, 1, 64), seconds: &second, op: opShift}, 256},
		"MLX 4 bits":          {&scaled{cols: 256, codes: streamRow(256, 4, 128, 0), scales: grid(96, 256, 1, 64), seconds: &second, op: opAffine}, 256},
		"MLX 8 bits":          {&scaled{cols: 256, codes: streamRow(256, 8, 256, 0), scales: grid(96, 256, 1, 64), seconds: &second, op: opAffine}, 256},
		"packed 4 bits":       {&scaled{cols: 256, codes: streamRow(256, 4, 128, 8), scales: grid(96, 256, 1, 32)}, 256},
		"packed, zero points": {&scaled{cols: 256, codes: streamRow(256, 4, 128, 8), scales: grid(96, 256, 1, 64), seconds: &second, op: opShift}, 256},
		"packed 4 zeros":      {&scaled{cols: 400, codes: streamRow(400, 4, 200, 8), scales: grid(96, 400, 1, 25), seconds: &zeros4, op: opShift}, 400},
		"packed 3 zeros":      {&scaled{cols: 400, codes: streamRow(400, 3, 152, 4), scales: grid(96, 400, 1, 25), seconds: &zeros3, op: opShift}, 400},
		"packed 5 loose":      {&scaled{cols: 410, codes: wordRow(5, 276, 16), scales: grid(96, 410, 1, 41), seconds: &loose5, op: opShift}, 410},
		"packed 6 loose":      {&scaled{cols: 410, codes: wordRow(6, 328, 32), scales: grid(96, 410, 1, 41)}, 410},
		"packed 8 bits":       {&scaled{cols: 256, codes: streamRow(256, 8, 256, 128), scales: grid(96, 256, 1, 64)}, 256},
		"FP8 columns":         {&scaled{cols: 300, codes: float8Row(300, asm.E4M3), scales: of(grid(96, 300, 96, 1), tensor.F32, 4)}, 300},
		"FP8 columns, blocks": {&scaled{cols: 300, codes: float8Row(300, asm.E5M2FNUZ), scales: grid(96, 300, 32, 1)}, 300},
		"INT8 columns":        {&scaled{cols: 256, codes: int8Row(256), scales: bySixteen, seconds: &bySixteen, op: opShift}, 256},
		"NVFP4 fused":         {&scaled{cols: 256, codes: halves, scales: of(bySixteen, tensor.F8E4M3, 1), global: &second}, 256},
		"ComfyUI's NVFP4":     {&scaled{cols: 288, codes: highFirstRow(288), scales: swizzled(288, 16, numbers[tensor.F8E4M3], bulkOf(tensor.F8E4M3)), global: &second}, 288},
		"ComfyUI's MXFP8":     {&scaled{cols: 320, codes: float8Row(320, asm.E4M3), scales: swizzled(320, 32, comfyExponent, comfyExponents)}, 320},
		"AWQ of 8 bits":       awqOf(8),
		"packed 5 of words":   {&scaled{cols: 250, codes: wordRow(5, 168, 16), scales: grid(96, 250, 1, 125)}, 250},
		"packed 4, odd":       {&scaled{cols: 250, codes: streamRow(250, 4, 128, 8), scales: grid(96, 250, 1, 25)}, 250},
		"GPTQ 4 bits, odd":    {&gptq{in: 256, out: 96, groups: 7, bits: 4, groupSize: 37, scale: f32, scaleSize: 4}, 256},
		"GPTQ 8 bits, small":  {&gptq{in: 256, out: 96, groups: 32, bits: 8, groupSize: 8, scale: f32, scaleSize: 4}, 256},
		"GPTQ act-order of 6": {&gptq{in: 256, out: 96, groups: 4, bits: 6, groupSize: 64, scale: f32, scaleSize: 4, oldZeros: true}, 256},
		"FP8 zero points":     {&scaled{cols: 256, codes: float8Row(256, asm.E5M2), scales: second, seconds: &small, op: opShift}, 256},
		"FP8 zeros of FP8":    {&scaled{cols: 300, codes: float8Row(300, asm.E4M3), scales: grid(96, 300, 1, 300), seconds: &e4m3Row, op: opShift}, 300},
		"NVFP4 by a factor":   {&blockForm{cols: 256, matrixRows: 32, codes: codesOf(asm.NVFP4, 144)}, 256},
		"packed 3 of words":   {&scaled{cols: 250, codes: wordRow(3, 100, 4), scales: grid(96, 250, 1, 50)}, 250},
		"packed 7 of words":   {&scaled{cols: 250, codes: wordRow(7, 252, 64), scales: grid(96, 250, 1, 50), seconds: &fifth, op: opShift, columns: true}, 250},
		"turned BF16":         {&flipped{rows: 96, cols: 130, size: 2, read: numbers[tensor.BF16], as: asm.BF16, plain: true}, 130},
		"braid":               {&braid{cols: 101, strands: []strand{{numbers[tensor.BF16], asm.BF16, 2}, {f32, asm.F32, 4}}}, 202},
		"one strand":          {&braid{cols: 128, strands: []strand{{numbers[tensor.F16], asm.F16, 2}}}, 128},
		"turned F32":          {&flipped{rows: 96, cols: 130, size: 4, read: f32, as: asm.F32, plain: true}, 130},
		"sparse 2:4":          {&sparse{rows: 96, cols: 256, half: true, read: numbers[tensor.BF16], size: 2, as: asm.BF16, plain: true}, 256},
		"sparse mask":         {&sparse{rows: 96, cols: 203, read: numbers[tensor.F16], size: 2, as: asm.F16, plain: true}, 203},
		"sparse mask of F32":  {&sparse{rows: 96, cols: 100, read: f32, size: 4, as: asm.F32, plain: true}, 100},
		"sparse mask of FP8":  {&sparse{rows: 96, cols: 300, read: readE4M3, size: 1, float8: asm.E4M3, scales: &blocked}, 300},
		"GEMV_FAST":           {&scaled{cols: 256, codes: fastRow(256), scales: columnwise, seconds: &columnwise, op: opAffine}, 256},
		"packed 4 act-order":  {&scaled{cols: 256, codes: streamRow(256, 4, 128, 8), scales: grid(96, 256, 1, 32), columns: true}, 256},
		"packed 4 zeros act":  {&scaled{cols: 256, codes: streamRow(256, 4, 128, 8), scales: secondBF16, seconds: &small, op: opShift, columns: true}, 256},
		"packed 8 act-order":  {&scaled{cols: 256, codes: streamRow(256, 8, 256, 128), scales: grid(96, 256, 1, 32), columns: true}, 256},
		"packed 3 zeros act":  {&scaled{cols: 250, codes: streamRow(250, 3, 96, 4), scales: grid(96, 250, 1, 50), seconds: &fifth, op: opShift, columns: true}, 250},
		"folded, 4 bits":      {&folded{form: &scaled{cols: 256, codes: streamRow(256, 4, 128, 8), scales: grid(96, 256, 1, 32)}, cols: 256, size: 2, read: numbers[tensor.F16], part: 2}, 256},
		"MXFP4":               {&scaled{cols: 256, codes: fp4PlusRow(256), scales: grid(96, 256, 1, 32)}, 256},
		"NVFP4 of E4M3":       {&scaled{cols: 256, codes: fp4Row(256), scales: of(grid(96, 256, 1, 16), tensor.F8E4M3, 1), global: &second}, 256},
		"NVFP4":               {&scaled{cols: 256, codes: fp4Row(256), scales: grid(96, 256, 1, 16), global: &second}, 256},
		"Q4_K":                {&blockForm{cols: 256, codes: codesOf(asm.Q4_K, 144)}, 256},
	}
	for _, bits := range []int64{2, 3, 5, 6, 7} {
		forms[fmt.Sprintf("AWQ of %d bits", bits)] = awqOf(bits)
	}
	return forms
}

func codesOf(k asm.Kind, rowBytes int64) codes {
	c := plainRows(rowBytes, k.Decode)
	c.kernel = blocksOf(k)
	return c
}

func blocksOf(k asm.Kind) kernel {
	return func(o *asm.Ops, to asm.Type, dst, src, _ []byte) { o.Blocks(k, to, dst, src) }
}

// Whole weights and ranges of rows, every target, every level: the kernels are
// used, and give what the form decodes.
func TestDirectFormsAgreeWithDecoding(t *testing.T) {
	const rows = 96
	for name, f := range directForms() {
		t.Run(name, func(t *testing.T) {
			parts := randomParts(f.form, name, rows)
			for _, o := range everyLevel() {
				for _, to := range []Target{BF16, F16, F32} {
					for _, r := range [][2]int64{{0, rows}, {8, 72}, {3, 29}} {
						need := make([][]byte, len(parts))
						for p, part := range parts {
							span := f.need(p, r[0], r[1])
							need[p] = part[span.Off:span.End():span.End()]
						}
						n := (r[1] - r[0]) * f.cols
						tile := make([]float32, n)
						f.decode(tile, need, r[0], r[1])
						want, got := make([]byte, n*int64(to.Size())), make([]byte, n*int64(to.Size()))
						scalar := asm.For(0)
						scalar.Put(targets[to].kind, want, tile)
						if byLevel(f.form) && o.Level() == asm.Generic {
							continue
						}
						if !f.form.direct(request{o: o, dst: got, to: targets[to].kind, parts: need, lo: r[0], hi: r[1], scratch: tile}) {
							t.Fatal("no kernel was used")
						}
						if !bytes.Equal(want, got) {
							t.Fatalf("%v to %v, rows %v: differs", o.Level(), to, r)
						}
					}
				}
			}
		})
	}
}

// byLevel reports forms that the generic level decodes number by number.
func byLevel(f form) bool {
	switch f := f.(type) {
	case *folded, *braid:
		return true
	case *bnb4:
		return f.cols%2 != 0 || f.block%2 != 0
	case *blockForm:
		return f.matrixRows > 0
	}
	return false
}

// randomParts is parts of random bytes; scales are what they are, NaN and
// infinity among them.
func randomParts(f form, name string, rows int64) (parts [][]byte) {
	rng := rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%-32s", name))))
	if f, ok := f.(*sparse); ok {
		return f.randomParts(rng)
	}
	for p := range partsOf(f, name) {
		span := f.need(p, 0, rows)
		part := make([]byte, span.Off+span.Len)
		rng.Read(part)
		parts = append(parts, part)
	}
	if f, ok := f.(*scaled); ok && f.columns {
		index := parts[len(parts)-1]
		for i := 0; i < len(index); i += 4 {
			binary.LittleEndian.PutUint32(index[i:], uint32(rng.Uint64()%uint64(f.scales.cols)))
		}
	}
	if strings.HasPrefix(name, "GPTQ act-order") {
		for i := 0; i < len(parts[gptqIndex]); i += 4 {
			binary.LittleEndian.PutUint32(parts[gptqIndex][i:], uint32(rng.Uint64()%4))
		}
	}
	return parts
}

// randomParts is random masks, half of each row where that is so, and values for
// their bits.
func (f *sparse) randomParts(rng *rand.ChaCha8) [][]byte {
	var mask, starts []byte
	f.values = 0
	for range f.rows {
		starts = binary.LittleEndian.AppendUint64(starts, uint64(f.values))
		row := make([]byte, ceilDiv(f.cols, 8))
		for c := int64(0); c < f.cols; c += 2 {
			bits := byte(rng.Uint64() % 4)
			if f.half {
				bits = 1 + bits%2
			} else if c+1 == f.cols {
				bits &= 1
			}
			row[c/8] |= bits << (c % 8)
		}
		mask, f.values = append(mask, row...), f.values+int64(asm.Ones(row))
	}
	values := make([]byte, f.values*f.size)
	rng.Read(values)
	parts := [][]byte{values, mask}
	if !f.half {
		parts = append(parts, starts)
	}
	if f.scales != nil {
		scales := make([]byte, f.scales.need(0, f.rows).Len)
		rng.Read(scales)
		parts = append(parts, scales)
	}
	return parts
}

func partsOf(f form, name string) int {
	switch f := f.(type) {
	case *gptq:
		if strings.HasPrefix(name, "GPTQ act-order") {
			return 4
		}
		return 3
	case *awq, *hqq:
		return 3
	case *bnb4:
		if f.nested {
			return 5
		}
		return 3
	case *scaled:
		n := 2
		for _, g := range []*grid{f.seconds, f.global} {
			if g != nil {
				n++
			}
		}
		if f.columns {
			n++
		}
		return n
	case *bnb8:
		return 2
	case *braid:
		return len(f.strands)
	case *folded:
		return f.part + 1
	case *blockForm:
		if f.matrixRows > 0 {
			return 2
		}
		return 1
	default:
		return 1
	}
}

// usual makes the float32 of parts such as a model has.
func usual(f form, parts [][]byte) {
	switch f := f.(type) {
	case *bnb4:
		parts = parts[bnbBook:]
	case *scaled:
		parts = parts[1:]
		if f.scales.size != 4 {
			return
		}
	default:
		return
	}
	for _, part := range parts {
		for i := 0; i < len(part); i += 4 {
			x := binary.LittleEndian.Uint32(part[i:])
			binary.LittleEndian.PutUint32(part[i:], x&^(0x7F<<24)|0x3C<<24)
		}
	}
}

// BenchmarkForms decodes weights of 1024 rows whose parts lie in memory, and
// rotates over ranges of rows, as writing a file does. Numbers are usual ones.
func BenchmarkForms(b *testing.B) {
	const in, out, step = 4096, 1024, 64
	f32 := numbers[tensor.F16]
	halves := func(g grid) grid { g.bulk = bulkOf(tensor.F16); return g }
	eighths := func(g grid) grid { g.bulk = bulkOf(tensor.F8E4M3); return g }
	for _, c := range []struct {
		name string
		form form
	}{
		{"GPTQ 4 bits", &gptq{in: in, out: out, groups: 32, bits: 4, groupSize: 128, scale: f32, scaleSize: 2, bulk: bulkOf(tensor.F16), oldZeros: true}},
		{"GPTQ 8 bits", &gptq{in: in, out: out, groups: 32, bits: 8, groupSize: 128, scale: f32, scaleSize: 2, bulk: bulkOf(tensor.F16), oldZeros: true}},
		{"GPTQ act-order", &gptq{in: in, out: out, groups: 32, bits: 4, groupSize: 128, scale: f32, scaleSize: 2, bulk: bulkOf(tensor.F16), oldZeros: true}},
		{"AWQ", &awq{in: in, out: out, groups: 32, bits: 4, groupSize: 128, scale: f32, scaleSize: 2, bulk: bulkOf(tensor.F16)}},
		{"NF4 nested", &bnb4{cols: in, block: 64, nested: true, nestedBlock: 256}},
		{"FP8 blocks", &scaled{cols: in, codes: float8Row(in, asm.E4M3), scales: grid{matrixRows: out, blockRows: 128, blockCols: 128, cols: 32, size: 4, read: numbers[tensor.F32]}}},
		{"MLX 4 bits", &scaled{cols: in, codes: streamRow(in, 4, in/2, 0), scales: halves(groupGrid(out, in, 64, 2, f32)), seconds: new(grid), op: opAffine}},
		{"MLX 3 bits", &scaled{cols: in, codes: streamRow(in, 3, in*3/8, 0), scales: halves(groupGrid(out, in, 64, 2, f32)), seconds: new(grid), op: opAffine}},
		{"GPTQ 3 bits", &gptq{in: in, out: out, groups: 32, bits: 3, groupSize: 128, scale: f32, scaleSize: 2, bulk: bulkOf(tensor.F16), oldZeros: true}},
		{"braid", &braid{cols: in / 2, strands: []strand{{numbers[tensor.BF16], asm.BF16, 2}, {numbers[tensor.BF16], asm.BF16, 2}}}},
		{"NVFP4", &scaled{cols: in, codes: fp4Row(in), scales: eighths(groupGrid(out, in, 16, 1, numbers[tensor.F8E4M3]))}},
	} {
		for _, o := range everyLevel() {
			for _, to := range []Target{BF16, F16, F32} {
				b.Run(c.name+"/"+to.String()+"/"+o.Level().String(), func(b *testing.B) {
					if f, ok := c.form.(*scaled); ok && f.seconds != nil {
						*f.seconds = f.scales
					}
					parts := randomParts(c.form, c.name, out)
					usual(c.form, parts)
					tile, dst := make([]float32, step*in), make([]byte, step*in*to.Size())
					need := make([][]byte, len(parts))
					lo, best := int64(0), int64(1<<62)
					for b.Loop() {
						begin := time.Now()
						for p, part := range parts {
							span := c.form.need(p, lo, lo+step)
							need[p] = part[span.Off:span.End()]
						}
						put(c.form, request{o, dst, targets[to].kind, need, lo, lo + step, tile})
						lo = (lo + step) % out
						best = min(best, time.Since(begin).Nanoseconds())
					}
					b.ReportMetric(step*in/float64(best), "best-Ge/s")
				})
			}
		}
	}
}
