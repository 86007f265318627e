package form

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

type gridOf = Grid

// directForms are forms that have kernels, of 96 rows.
func directForms() map[string]struct {
	Form
	cols int64
} {
	type named = struct {
		Form
		cols int64
	}
	f32 := Numbers[tensor.F32]
	grid := func(rows, cols, blockRows, blockCols int64) Grid {
		return Grid{MatrixRows: rows, BlockRows: blockRows, BlockCols: blockCols, Cols: CeilDiv(cols, blockCols), Size: 4, Read: f32}
	}
	second := grid(96, 256, 1, 64)
	of := func(g gridOf, d tensor.DType, size int64) gridOf { // as numbers of a type, many at once
		g.Read, g.Bulk, g.Size = Numbers[d], BulkOf(d), size
		return g
	}
	sixteenth, twentieth := grid(96, 256, 1, 16), grid(96, 200, 1, 20)
	zeros4, zeros3, loose5 := PackedZeroGrid(96, 400, 25, 4, false), PackedZeroGrid(96, 400, 25, 3, false), PackedZeroGrid(96, 410, 41, 5, true)
	secondBF16 := of(second, tensor.BF16, 2)
	ternary := scatteredRows(24*256, 96, func(dst []float32, src []byte, r int64) {
		for c, b := range src[r%24*256:][:256] {
			dst[c] = float32(int32(b>>(2*(r/24))&3) - 1)
		}
	})
	ternary.decodeScaled = func(o *asm.Ops, to asm.Type, dst, src []byte, u rowScales) bool {
		return scaledTernary(o, to, dst, src[u.sub%24*256:][:256], uint8(2*(u.sub/24)), u)
	}
	pairs := Codes{rowBytes: 256, perRow: 2, pick: func(dst []float32, src []byte, r int64) {
		for c, b := range src[r/2*256:][:256] {
			dst[c] = float32(int8(b>>(4*(r%2))<<4) >> 4)
		}
	}}
	pairs.decodeScaled = scaledHalfBytes(func(code uint8) float32 { return float32(int8(code<<4) >> 4) })
	bySixteen, fifth := grid(96, 256, 16, 1), of(grid(96, 250, 1, 50), tensor.I8, 1)
	e4m3Row := of(grid(96, 300, 1, 300), tensor.F8E4M3, 1)
	awqOf := func(bits int64) named {
		return named{&PackedOut{In: 256, Out: 96, Groups: 4, Bits: bits, GroupSize: 64, Scale: Numbers[tensor.F16], ScaleSize: 2, Bulk: BulkOf(tensor.F16)}, 256}
	}
	swizzled := func(cols, group int64, read Number, many bulk) gridOf {
		g := SwizzledGrid(96, cols, group, 512*CeilDiv(cols/group, 4), read)
		g.Bulk = many
		return g
	}
	readE4M3 := func(p []byte, i int64) float32 { return asm.E4M3.Value(p[i]) }
	blocked := grid(96, 300, 32, 128)
	columnwise := of(gridOf{MatrixRows: 96, BlockRows: 1, BlockCols: 16, Cols: 20}, tensor.F16, 2).Transposed(96, 96*20*2)
	small := second
	small.Size, small.Read = 1, Numbers[tensor.I8]
	halves := Codes{rowBytes: 256, perRow: 2, pick: evenRowLow(codebookOf(PlusValue)), decodeScaled: scaledHalfBytes(PlusValue)}
	forms := map[string]named{
		"GPTQ 4 bits":         {&PackedIn{In: 256, Out: 96, Groups: 4, Bits: 4, GroupSize: 64, Scale: f32, ScaleSize: 4, OldZeros: true}, 256},
		"GPTQ 8 bits":         {&PackedIn{In: 256, Out: 96, Groups: 2, Bits: 8, GroupSize: 128, Scale: Numbers[tensor.F16], ScaleSize: 2}, 256},
		"GPTQ act-order":      {&PackedIn{In: 512, Out: 96, Groups: 4, Bits: 4, GroupSize: 128, Scale: f32, ScaleSize: 4}, 512},
		"GPTQ act-order of 8": {&PackedIn{In: 256, Out: 96, Groups: 4, Bits: 8, GroupSize: 64, Scale: Numbers[tensor.F16], ScaleSize: 2, Bulk: BulkOf(tensor.F16), OldZeros: true}, 256},
		"GPTQ act-order of 3": {&PackedIn{In: 512, Out: 96, Groups: 4, Bits: 3, GroupSize: 128, Scale: f32, ScaleSize: 4}, 512},
		"GPTQ 3 bits":         {&PackedIn{In: 256, Out: 96, Groups: 4, Bits: 3, GroupSize: 64, Scale: Numbers[tensor.F16], ScaleSize: 2, Bulk: BulkOf(tensor.F16), OldZeros: true}, 256},
		"GPTQ 2 bits":         {&PackedIn{In: 256, Out: 96, Groups: 4, Bits: 2, GroupSize: 64, Scale: Numbers[tensor.BF16], ScaleSize: 2, Bulk: BulkOf(tensor.BF16), OldZeros: true}, 256},
		"GPTQ 6 bits":         {&PackedIn{In: 256, Out: 96, Groups: 4, Bits: 6, GroupSize: 64, Scale: f32, ScaleSize: 4, Bulk: BulkOf(tensor.F32)}, 256},
		"AWQ of F16":          {&PackedOut{In: 256, Out: 96, Groups: 4, Bits: 4, GroupSize: 64, Scale: Numbers[tensor.F16], ScaleSize: 2, Bulk: BulkOf(tensor.F16)}, 256},
		"HQQ 4 bits":          {&Reshaped{cols: 256, Total: 256 * 96, Bits: 4, Width: 64, Height: 384, Stored: 192, Read: f32, Size: 4}, 256},
		"HQQ 3 bits":          {&Reshaped{cols: 256, Total: 256 * 96, Bits: 3, Width: 64, Height: 384, Stored: 39, Read: Numbers[tensor.F16], Size: 2, Bulk: BulkOf(tensor.F16)}, 256},
		"HQQ, ragged rows":    {&Reshaped{cols: 250, Total: 250 * 96, Bits: 4, Width: 64, Height: 375, Stored: 188, Read: f32, Size: 4}, 250},
		"HQQ 3, ragged rows":  {&Reshaped{cols: 250, Total: 250 * 96, Bits: 3, Width: 64, Height: 375, Stored: 38, Read: f32, Size: 4}, 250},
		"HQQ 3 bits, axis 0":  {&Reshaped{cols: 250, Total: 250 * 96, Bits: 3, Width: 375, Height: 64, Stored: 7, ByColumn: true, Read: Numbers[tensor.F16], Size: 2, Bulk: BulkOf(tensor.F16)}, 250},
		"HQQ 4 bits, axis 0":  {&Reshaped{cols: 250, Total: 250 * 96, Bits: 4, Width: 375, Height: 64, Stored: 32, ByColumn: true, Read: f32, Size: 4, Bulk: BulkOf(tensor.F32)}, 250},
		"HQQ 8 bits, axis 0":  {&Reshaped{cols: 250, Total: 250 * 96, Bits: 8, Width: 375, Height: 64, Stored: 64, ByColumn: true, Read: Numbers[tensor.BF16], Size: 2, Bulk: BulkOf(tensor.BF16)}, 250},
		"HQQ 2 bits":          {&Reshaped{cols: 256, Total: 256 * 96, Bits: 2, Width: 64, Height: 384, Stored: 96, Read: f32, Size: 4}, 256},
		"HQQ 1 bit":           {&Reshaped{cols: 256, Total: 256 * 96, Bits: 1, Width: 32, Height: 768, Stored: 96, Read: f32, Size: 4}, 256},
		"HQQ 8 bits":          {&Reshaped{cols: 256, Total: 256 * 96, Bits: 8, Width: 128, Height: 192, Stored: 192, Read: f32, Size: 4}, 256},
		"BitNet":              {&Scaled{Cols: 256, Inverse: true, Codes: ternary, Scales: gridOf{MatrixRows: 96, BlockRows: 96, BlockCols: 256, Cols: 1, Size: 4, Read: f32}}, 256},
		"ternary, multiplied": {&Scaled{Cols: 256, Codes: ternary, Scales: gridOf{MatrixRows: 96, BlockRows: 96, BlockCols: 256, Cols: 1, Size: 4, Read: f32}}, 256},
		"ModelOpt 4 bits":     {&Scaled{Cols: 256, Codes: pairs, Scales: of(grid(96, 256, 1, 128), tensor.BF16, 2)}, 256},
		"MLX 2 bits":          {&Scaled{Cols: 256, Codes: StreamRow(256, 2, 64, 0), Scales: secondBF16, Seconds: &secondBF16, Op: asm.Affine}, 256},
		"MLX 3 bits":          {&Scaled{Cols: 256, Codes: StreamRow(256, 3, 96, 0), Scales: secondBF16, Seconds: &secondBF16, Op: asm.Affine}, 256},
		"MLX 5 bits":          {&Scaled{Cols: 256, Codes: StreamRow(256, 5, 160, 0), Scales: secondBF16, Seconds: &secondBF16, Op: asm.Affine}, 256},
		"MLX 6 bits":          {&Scaled{Cols: 256, Codes: StreamRow(256, 6, 192, 0), Scales: second, Seconds: &second, Op: asm.Affine}, 256},
		"MLX 4, groups of 16": {&Scaled{Cols: 256, Codes: StreamRow(256, 4, 128, 0), Scales: grid(96, 256, 1, 16), Seconds: &sixteenth, Op: asm.Affine}, 256},
		"MLX 6, groups of 20": {&Scaled{Cols: 200, Codes: StreamRow(200, 6, 150, 0), Scales: grid(96, 200, 1, 20), Seconds: &twentieth, Op: asm.Affine}, 200},
		"packed 3 bits":       {&Scaled{Cols: 100, Codes: StreamRow(100, 3, 40, 4), Scales: grid(96, 100, 1, 25)}, 100},
		"packed 6 bits":       {&Scaled{Cols: 256, Codes: StreamRow(256, 6, 192, 32), Scales: grid(96, 256, 1, 256), Seconds: &second, Op: asm.Shift}, 256},
		"AWQ":                 {&PackedOut{In: 256, Out: 96, Groups: 4, Bits: 4, GroupSize: 64, Scale: f32, ScaleSize: 4}, 256},
		"NF4":                 {&Coded4{Cols: 256, Block: 64}, 256},
		"NF4 across rows":     {&Coded4{Cols: 96, Block: 64}, 96},
		"NF4, odd blocks":     {&Coded4{Cols: 256, Block: 63}, 256},
		"NF4, odd rows":       {&Coded4{Cols: 255, Block: 64, Nested: true, NestedBlock: 16, Offset: 0.25}, 255},
		"NF4 nested":          {&Coded4{Cols: 256, Block: 64, Nested: true, NestedBlock: 256, Offset: 0.5}, 256},
		"FP4":                 {&Coded4{Cols: 256, Block: 128, Fp4: true}, 256},
		"LLM.int8":            {&Rows8{Cols: 200}, 200},
		"FP8 blocks":          {&Scaled{Cols: 300, Codes: Float8Row(300, asm.E4M3), Scales: grid(96, 300, 32, 128)}, 300},
		"FP8 rows":            {&Scaled{Cols: 200, Codes: Float8Row(200, asm.E5M2), Scales: grid(96, 200, 1, 200)}, 200},
		"INT8 groups":         {&Scaled{Cols: 256, Codes: Int8Row(256), Scales: grid(96, 256, 1, 64), Seconds: &second, Op: asm.Shift}, 256},
		"MLX 4 bits":          {&Scaled{Cols: 256, Codes: StreamRow(256, 4, 128, 0), Scales: grid(96, 256, 1, 64), Seconds: &second, Op: asm.Affine}, 256},
		"MLX 8 bits":          {&Scaled{Cols: 256, Codes: StreamRow(256, 8, 256, 0), Scales: grid(96, 256, 1, 64), Seconds: &second, Op: asm.Affine}, 256},
		"packed 4 bits":       {&Scaled{Cols: 256, Codes: StreamRow(256, 4, 128, 8), Scales: grid(96, 256, 1, 32)}, 256},
		"packed, zero points": {&Scaled{Cols: 256, Codes: StreamRow(256, 4, 128, 8), Scales: grid(96, 256, 1, 64), Seconds: &second, Op: asm.Shift}, 256},
		"packed 4 zeros":      {&Scaled{Cols: 400, Codes: StreamRow(400, 4, 200, 8), Scales: grid(96, 400, 1, 25), Seconds: &zeros4, Op: asm.Shift}, 400},
		"packed 3 zeros":      {&Scaled{Cols: 400, Codes: StreamRow(400, 3, 152, 4), Scales: grid(96, 400, 1, 25), Seconds: &zeros3, Op: asm.Shift}, 400},
		"packed 5 loose":      {&Scaled{Cols: 410, Codes: WordRow(5, 276, 16), Scales: grid(96, 410, 1, 41), Seconds: &loose5, Op: asm.Shift}, 410},
		"packed 6 loose":      {&Scaled{Cols: 410, Codes: WordRow(6, 328, 32), Scales: grid(96, 410, 1, 41)}, 410},
		"packed 8 bits":       {&Scaled{Cols: 256, Codes: StreamRow(256, 8, 256, 128), Scales: grid(96, 256, 1, 64)}, 256},
		"FP8 columns":         {&Scaled{Cols: 300, Codes: Float8Row(300, asm.E4M3), Scales: of(grid(96, 300, 96, 1), tensor.F32, 4)}, 300},
		"FP8 columns, blocks": {&Scaled{Cols: 300, Codes: Float8Row(300, asm.E5M2FNUZ), Scales: grid(96, 300, 32, 1)}, 300},
		"INT8 columns":        {&Scaled{Cols: 256, Codes: Int8Row(256), Scales: bySixteen, Seconds: &bySixteen, Op: asm.Shift}, 256},
		"NVFP4 fused":         {&Scaled{Cols: 256, Codes: halves, Scales: of(bySixteen, tensor.F8E4M3, 1), Global: &second}, 256},
		"ComfyUI's NVFP4":     {&Scaled{Cols: 288, Codes: HighFirstRow(288), Scales: swizzled(288, 16, Numbers[tensor.F8E4M3], BulkOf(tensor.F8E4M3)), Global: &second}, 288},
		"ComfyUI's MXFP8":     {&Scaled{Cols: 320, Codes: Float8Row(320, asm.E4M3), Scales: swizzled(320, 32, ExponentOrZero, ExponentsOrZero)}, 320},
		"AWQ of 8 bits":       awqOf(8),
		"packed 5 of words":   {&Scaled{Cols: 250, Codes: WordRow(5, 168, 16), Scales: grid(96, 250, 1, 125)}, 250},
		"packed 4, odd":       {&Scaled{Cols: 250, Codes: StreamRow(250, 4, 128, 8), Scales: grid(96, 250, 1, 25)}, 250},
		"GPTQ 4 bits, odd":    {&PackedIn{In: 256, Out: 96, Groups: 7, Bits: 4, GroupSize: 37, Scale: f32, ScaleSize: 4}, 256},
		"GPTQ 8 bits, small":  {&PackedIn{In: 256, Out: 96, Groups: 32, Bits: 8, GroupSize: 8, Scale: f32, ScaleSize: 4}, 256},
		"GPTQ act-order of 6": {&PackedIn{In: 256, Out: 96, Groups: 4, Bits: 6, GroupSize: 64, Scale: f32, ScaleSize: 4, OldZeros: true}, 256},
		"FP8 zero points":     {&Scaled{Cols: 256, Codes: Float8Row(256, asm.E5M2), Scales: second, Seconds: &small, Op: asm.Shift}, 256},
		"FP8 zeros of FP8":    {&Scaled{Cols: 300, Codes: Float8Row(300, asm.E4M3), Scales: grid(96, 300, 1, 300), Seconds: &e4m3Row, Op: asm.Shift}, 300},
		"NVFP4 by a factor":   {&BlockForm{Cols: 256, MatrixRows: 32, Codes: codesOf(asm.NVFP4, 144)}, 256},
		"packed 3 of words":   {&Scaled{Cols: 250, Codes: WordRow(3, 100, 4), Scales: grid(96, 250, 1, 50)}, 250},
		"packed 7 of words":   {&Scaled{Cols: 250, Codes: WordRow(7, 252, 64), Scales: grid(96, 250, 1, 50), Seconds: &fifth, Op: asm.Shift, Columns: true}, 250},
		"transposed BF16":     {&Flipped{Rows: 96, Cols: 130, Size: 2, Read: Numbers[tensor.BF16], As: asm.BF16, Plain: true}, 130},
		"transposed stack":    {&FlippedStack{Flipped{Rows: 32, Cols: 130, Size: 2, Read: Numbers[tensor.BF16], As: asm.BF16, Plain: true}, 3}, 130},
		"interleaved":         {&Interleaved{Cols: 101, Lanes: []Lane{{Numbers[tensor.BF16], asm.BF16, 2}, {f32, asm.F32, 4}}}, 202},
		"one lane":            {&Interleaved{Cols: 128, Lanes: []Lane{{Numbers[tensor.F16], asm.F16, 2}}}, 128},
		"transposed F32":      {&Flipped{Rows: 96, Cols: 130, Size: 4, Read: f32, As: asm.F32, Plain: true}, 130},
		"sparse 2:4":          {&Sparse{Rows: 96, Cols: 256, Half: true, Read: Numbers[tensor.BF16], Size: 2, As: asm.BF16, Plain: true}, 256},
		"sparse mask":         {&Sparse{Rows: 96, Cols: 203, Read: Numbers[tensor.F16], Size: 2, As: asm.F16, Plain: true}, 203},
		"sparse mask of F32":  {&Sparse{Rows: 96, Cols: 100, Read: f32, Size: 4, As: asm.F32, Plain: true}, 100},
		"sparse mask of FP8":  {&Sparse{Rows: 96, Cols: 300, Read: readE4M3, Size: 1, Float8: asm.E4M3, Scales: &blocked}, 300},
		"GEMV_FAST":           {&Scaled{Cols: 256, Codes: FastRow(256), Scales: columnwise, Seconds: &columnwise, Op: asm.Affine}, 256},
		"packed 4 act-order":  {&Scaled{Cols: 256, Codes: StreamRow(256, 4, 128, 8), Scales: grid(96, 256, 1, 32), Columns: true}, 256},
		"packed 4 zeros act":  {&Scaled{Cols: 256, Codes: StreamRow(256, 4, 128, 8), Scales: secondBF16, Seconds: &small, Op: asm.Shift, Columns: true}, 256},
		"packed 8 act-order":  {&Scaled{Cols: 256, Codes: StreamRow(256, 8, 256, 128), Scales: grid(96, 256, 1, 32), Columns: true}, 256},
		"packed 3 zeros act":  {&Scaled{Cols: 250, Codes: StreamRow(250, 3, 96, 4), Scales: grid(96, 250, 1, 50), Seconds: &fifth, Op: asm.Shift, Columns: true}, 250},
		"folded, 4 bits":      {&Folded{Form: &Scaled{Cols: 256, Codes: StreamRow(256, 4, 128, 8), Scales: grid(96, 256, 1, 32)}, Cols: 256, Size: 2, Read: Numbers[tensor.F16], Part: 2}, 256},
		"MXFP4":               {&Scaled{Cols: 256, Codes: Fp4PlusRow(256), Scales: grid(96, 256, 1, 32)}, 256},
		"NVFP4 of E4M3":       {&Scaled{Cols: 256, Codes: Fp4Row(256), Scales: of(grid(96, 256, 1, 16), tensor.F8E4M3, 1), Global: &second}, 256},
		"NVFP4":               {&Scaled{Cols: 256, Codes: Fp4Row(256), Scales: grid(96, 256, 1, 16), Global: &second}, 256},
		"Q4_K":                {&BlockForm{Cols: 256, Codes: codesOf(asm.Q4_K, 144)}, 256},
	}
	for _, bits := range []int64{2, 3, 5, 6, 7} {
		forms[fmt.Sprintf("AWQ of %d bits", bits)] = awqOf(bits)
	}
	return forms
}

func codesOf(k asm.Kind, rowBytes int64) Codes {
	c := PlainRows(rowBytes, k.Decode)
	c.Kernel = blocksOf(k)
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
			parts := RandomParts(f.Form, name, rows)
			for _, o := range everyLevel() {
				for _, to := range []asm.Type{asm.BF16, asm.F16, asm.F32} {
					for _, r := range [][2]int64{{0, rows}, {8, 72}, {3, 29}} {
						need := make([][]byte, len(parts))
						for p, part := range parts {
							span := f.Need(p, r[0], r[1])
							need[p] = part[span.Off:span.End():span.End()]
						}
						n := (r[1] - r[0]) * f.cols
						tile := make([]float32, n)
						f.decode(tile, need, r[0], r[1])
						want, got := make([]byte, n*int64(to.Size())), make([]byte, n*int64(to.Size()))
						scalar := asm.For(0)
						scalar.Put(to, want, tile)
						if byLevel(f.Form) && o.Level() == asm.Generic {
							continue
						}
						if !f.Form.direct(request{o: o, dst: got, to: to, parts: need, lo: r[0], hi: r[1], scratch: tile}) {
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
func byLevel(f Form) bool {
	switch f := f.(type) {
	case *Folded, *Interleaved:
		return true
	case *Coded4:
		return f.Cols%2 != 0 || f.Block%2 != 0
	case *BlockForm:
		return f.MatrixRows > 0
	}
	return false
}

// RandomParts is parts of random bytes; scales are what they are, NaN and
// infinity among them.
func RandomParts(f Form, name string, rows int64) (parts [][]byte) {
	rng := rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%-32s", name))))
	if f, ok := f.(*Sparse); ok {
		return f.randomParts(rng)
	}
	for p := range partsOf(f, name) {
		span := f.Need(p, 0, rows)
		part := make([]byte, span.Off+span.Len)
		rng.Read(part)
		parts = append(parts, part)
	}
	if f, ok := f.(*Scaled); ok && f.Columns {
		index := parts[len(parts)-1]
		for i := 0; i < len(index); i += 4 {
			binary.LittleEndian.PutUint32(index[i:], uint32(rng.Uint64()%uint64(f.Scales.Cols)))
		}
	}
	if strings.HasPrefix(name, "GPTQ act-order") {
		for i := 0; i < len(parts[inIndex]); i += 4 {
			binary.LittleEndian.PutUint32(parts[inIndex][i:], uint32(rng.Uint64()%4))
		}
	}
	return parts
}

// randomParts is random masks, half of each row where that is so, and values for
// their bits.
func (f *Sparse) randomParts(rng *rand.ChaCha8) [][]byte {
	var mask, starts []byte
	f.Values = 0
	for range f.Rows {
		starts = binary.LittleEndian.AppendUint64(starts, uint64(f.Values))
		row := make([]byte, CeilDiv(f.Cols, 8))
		for c := int64(0); c < f.Cols; c += 2 {
			bits := byte(rng.Uint64() % 4)
			if f.Half {
				bits = 1 + bits%2
			} else if c+1 == f.Cols {
				bits &= 1
			}
			row[c/8] |= bits << (c % 8)
		}
		mask, f.Values = append(mask, row...), f.Values+int64(asm.Ones(row))
	}
	values := make([]byte, f.Values*f.Size)
	rng.Read(values)
	parts := [][]byte{values, mask}
	if !f.Half {
		parts = append(parts, starts)
	}
	if f.Scales != nil {
		scales := make([]byte, f.Scales.Need(0, f.Rows).Len)
		rng.Read(scales)
		parts = append(parts, scales)
	}
	return parts
}

func partsOf(f Form, name string) int {
	switch f := f.(type) {
	case *PackedIn:
		if strings.HasPrefix(name, "GPTQ act-order") {
			return 4
		}
		return 3
	case *PackedOut, *Reshaped:
		return 3
	case *Coded4:
		if f.Nested {
			return 5
		}
		return 3
	case *Scaled:
		n := 2
		for _, g := range []*Grid{f.Seconds, f.Global} {
			if g != nil {
				n++
			}
		}
		if f.Columns {
			n++
		}
		return n
	case *Rows8:
		return 2
	case *Interleaved:
		return len(f.Lanes)
	case *Folded:
		return f.Part + 1
	case *BlockForm:
		if f.MatrixRows > 0 {
			return 2
		}
		return 1
	default:
		return 1
	}
}

// usual makes the float32 of parts such as a model has.
func usual(f Form, parts [][]byte) {
	switch f := f.(type) {
	case *Coded4:
		parts = parts[codebookPart:]
	case *Scaled:
		parts = parts[1:]
		if f.Scales.Size != 4 {
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
	f32 := Numbers[tensor.F16]
	halves := func(g Grid) Grid { g.Bulk = BulkOf(tensor.F16); return g }
	eighths := func(g Grid) Grid { g.Bulk = BulkOf(tensor.F8E4M3); return g }
	for _, c := range []struct {
		name string
		form Form
	}{
		{"GPTQ 4 bits", &PackedIn{In: in, Out: out, Groups: 32, Bits: 4, GroupSize: 128, Scale: f32, ScaleSize: 2, Bulk: BulkOf(tensor.F16), OldZeros: true}},
		{"GPTQ 8 bits", &PackedIn{In: in, Out: out, Groups: 32, Bits: 8, GroupSize: 128, Scale: f32, ScaleSize: 2, Bulk: BulkOf(tensor.F16), OldZeros: true}},
		{"GPTQ act-order", &PackedIn{In: in, Out: out, Groups: 32, Bits: 4, GroupSize: 128, Scale: f32, ScaleSize: 2, Bulk: BulkOf(tensor.F16), OldZeros: true}},
		{"AWQ", &PackedOut{In: in, Out: out, Groups: 32, Bits: 4, GroupSize: 128, Scale: f32, ScaleSize: 2, Bulk: BulkOf(tensor.F16)}},
		{"NF4 nested", &Coded4{Cols: in, Block: 64, Nested: true, NestedBlock: 256}},
		{"FP8 blocks", &Scaled{Cols: in, Codes: Float8Row(in, asm.E4M3), Scales: Grid{MatrixRows: out, BlockRows: 128, BlockCols: 128, Cols: 32, Size: 4, Read: Numbers[tensor.F32]}}},
		{"MLX 4 bits", &Scaled{Cols: in, Codes: StreamRow(in, 4, in/2, 0), Scales: halves(GroupGrid(out, in, 64, 2, f32)), Seconds: new(Grid), Op: asm.Affine}},
		{"MLX 3 bits", &Scaled{Cols: in, Codes: StreamRow(in, 3, in*3/8, 0), Scales: halves(GroupGrid(out, in, 64, 2, f32)), Seconds: new(Grid), Op: asm.Affine}},
		{"GPTQ 3 bits", &PackedIn{In: in, Out: out, Groups: 32, Bits: 3, GroupSize: 128, Scale: f32, ScaleSize: 2, Bulk: BulkOf(tensor.F16), OldZeros: true}},
		{"interleaved", &Interleaved{Cols: in / 2, Lanes: []Lane{{Numbers[tensor.BF16], asm.BF16, 2}, {Numbers[tensor.BF16], asm.BF16, 2}}}},
		{"NVFP4", &Scaled{Cols: in, Codes: Fp4Row(in), Scales: eighths(GroupGrid(out, in, 16, 1, Numbers[tensor.F8E4M3]))}},
	} {
		for _, o := range everyLevel() {
			for _, to := range []asm.Type{asm.BF16, asm.F16, asm.F32} {
				b.Run(c.name+"/"+to.String()+"/"+o.Level().String(), func(b *testing.B) {
					if f, ok := c.form.(*Scaled); ok && f.Seconds != nil {
						*f.Seconds = f.Scales
					}
					parts := RandomParts(c.form, c.name, out)
					usual(c.form, parts)
					tile, dst := make([]float32, step*in), make([]byte, step*in*to.Size())
					need := make([][]byte, len(parts))
					lo, best := int64(0), int64(1<<62)
					for b.Loop() {
						begin := time.Now()
						for p, part := range parts {
							span := c.form.Need(p, lo, lo+step)
							need[p] = part[span.Off:span.End()]
						}
						put(c.form, request{o, dst, to, need, lo, lo + step, tile})
						lo = (lo + step) % out
						best = min(best, time.Since(begin).Nanoseconds())
					}
					b.ReportMetric(step*in/float64(best), "best-Ge/s")
				})
			}
		}
	}
}

// The two tables of types agree: what is read one by one is what is read in bulk.
func TestNumbersAreThoseOfTheBulk(t *testing.T) {
	for d, read := range Numbers {
		bulk, g := BulkOf(d), must(d.Geometry())
		if bulk == nil {
			continue
		}
		src := make([]byte, 256*g.Bytes)
		for i := range src {
			src[i] = byte(i / int(g.Bytes) * (1 + i%int(g.Bytes)))
		}
		got := make([]float32, 256)
		bulk(asm.Best(), got, src)
		for i, x := range got {
			if want := read(src, int64(i)); want == want && x != want {
				t.Errorf("%v: number %d is %v one by one and %v in bulk", d, i, want, x)
			}
		}
	}
}

func must[T any](v T, ok bool) T {
	if !ok {
		panic("no such type")
	}
	return v
}
