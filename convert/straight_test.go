package convert_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// inStorage is one matrix of float32 as a view of a storage.
func inStorage(rows, cols int64, numbers []float32, strides []int64, offset int64, order tensor.Order) tensor.Model {
	info := tensor.Info{Name: "model.layers.0.mlp.up_proj.weight", DType: tensor.F32, Shape: []int64{rows, cols},
		Strides: strides, Offset: offset, Storage: "s", Order: order}
	at := []int64{cols, 1}
	if strides != nil {
		at = strides
	}
	data := make([]byte, 4*(offset+(rows-1)*at[0]+(cols-1)*at[1]+1))
	for r := range rows {
		for c := range cols {
			p, bits := data[4*(offset+r*at[0]+c*at[1]):], math.Float32bits(numbers[r*cols+c])
			if order == tensor.Big {
				binary.BigEndian.PutUint32(p, bits)
			} else {
				binary.LittleEndian.PutUint32(p, bits)
			}
		}
	}
	info.Span.Len = int64(len(data))
	return &tensor.File{Name: "test", Source: bytes.NewReader(data), Infos: []tensor.Info{info}}
}

// The result does not depend on how the numbers of a matrix are stored.
func TestQuantizingIgnoresHowAMatrixIsStored(t *testing.T) {
	sizes := [][2]int64{{96, 160}, {200, 64}, {33, 128}}
	if !effort.Race && effort.Whole() {
		sizes = append(sizes, [2]int64{4352, 4096}) // more than is held: read in strips
	}
	for _, size := range sizes {
		rows, cols := size[0], size[1]
		numbers := converttest.Wave(int(rows * cols))
		large := rows > 1000
		for _, o := range []bnb.Layout{{Type: bnb.NF4}, {Type: bnb.FP4, Nested: true}, {Type: bnb.INT8}} {
			if large && !o.Nested {
				continue
			}
			want, _, err := converttest.Quantized(t, inStorage(rows, cols, numbers, nil, 0, tensor.Little), o, 2, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				name    string
				strides []int64
				offset  int64
				order   tensor.Order
			}{
				{"big-endian", nil, 0, tensor.Big},
				{"transposed", []int64{1, rows}, 0, tensor.Little},
				{"transposed, big-endian, behind others", []int64{1, rows}, 5, tensor.Big},
				{"columns of a wider one", []int64{cols + 40, 1}, 3, tensor.Little},
				{"every other number", []int64{2 * cols, 2}, 0, tensor.Big},
			} {
				m := inStorage(rows, cols, numbers, c.strides, c.offset, c.order)
				for name, m := range map[string]tensor.Model{"": m, ", in order": converttest.InOrder{Model: m}} {
					for _, threads := range []int{1, 3} {
						if large && (name != "" || threads == 1) {
							continue
						}
						t.Run(fmt.Sprint(size, o.Type, c.name, name, threads), func(t *testing.T) {
							got, _, err := converttest.Quantized(t, m, o, threads, 0)
							if err != nil {
								t.Fatal(err)
							}
							if !bytes.Equal(want, got) {
								t.Error("other tensors than those of a row-major matrix")
							}
						})
					}
				}
			}
		}
	}
}
