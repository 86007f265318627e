package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// secondSchema is what of onnx.proto leads to tensors: a field is a number (i), numbers in one
// piece or single (*i), four or eight bytes each (*4, *8), text (s), or a message.
var secondSchema = map[string]map[uint64]string{
	"Model":     {7: "Graph", 20: "Training", 25: "Function"},
	"Training":  {1: "Graph", 2: "Graph"},
	"Function":  {7: "Node", 11: "Attribute"},
	"Graph":     {1: "Node", 5: "Tensor", 15: "Sparse"},
	"Node":      {5: "Attribute"},
	"Attribute": {5: "Tensor", 6: "Graph", 10: "Tensor", 11: "Graph", 22: "Sparse", 23: "Sparse"},
	"Sparse":    {1: "Tensor", 2: "Tensor", 3: "*i"},
	"Pair":      {1: "s", 2: "s"},
	"Tensor": {1: "*i", 2: "i", 4: "*4", 5: "*i", 6: "s", 7: "*i", 8: "s", 9: "s", 10: "*8", 11: "*i",
		13: "Pair", 14: "i"},
}

// A secondMessage holds the values of its fields in their order: big.Int, []byte or a message.
type secondMessage struct {
	kind   string
	fields map[uint64][]any
}

func secondVarint(p []byte) (uint64, []byte, error) {
	n := new(big.Int)
	for i, c := range p {
		if i == 10 {
			break
		}
		n.Or(n, new(big.Int).Lsh(big.NewInt(int64(c&0x7f)), uint(7*i)))
		if c < 0x80 {
			return n.And(n, new(big.Int).SetUint64(1<<64-1)).Uint64(), p[i+1:], nil
		}
	}
	return 0, nil, not("a number that does not end")
}

func secondProto(kind string, p []byte) (*secondMessage, error) {
	m := &secondMessage{kind, map[uint64][]any{}}
	for len(p) > 0 {
		key, rest, err := secondVarint(p)
		if err != nil {
			return nil, err
		}
		if n := len(p) - len(rest); n > 1 && p[n-1] == 0 {
			return nil, not("a tag in %d bytes", n)
		}
		field, is := key>>3, secondSchema[kind][key>>3]
		var body []byte
		switch width := map[uint64]int{1: 8, 5: 4}[key&7]; {
		case field == 0:
			return nil, not("field 0")
		case key&7 == 0:
			n, after, err := secondVarint(rest)
			if err != nil {
				return nil, err
			}
			if p = after; is == "i" || is == "*i" {
				m.fields[field] = append(m.fields[field], n)
			} else if is != "" {
				return nil, not("a number in field %d of %s", field, kind)
			}
			continue
		case width > 0 && len(rest) >= width:
			body, p = rest[:width], rest[width:]
			if is != "" && is != "*"+strconv.Itoa(width) {
				return nil, not("%d bytes in field %d of %s", width, field, kind)
			}
		case key&7 == 2:
			n, after, err := secondVarint(rest)
			if err != nil || n > uint64(len(after)) || len(rest)-len(after) > 5 {
				return nil, not("a field of %d bytes: %v", n, err)
			}
			body, p = after[:n], after[n:]
		default:
			return nil, not("wire type %d", key&7)
		}
		switch {
		case is == "":
		case is == "i":
			return nil, not("bytes in field %d of %s", field, kind)
		case is == "*i":
			for len(body) > 0 {
				var n uint64
				if n, body, err = secondVarint(body); err != nil {
					return nil, err
				}
				m.fields[field] = append(m.fields[field], n)
			}
		case secondSchema[is] != nil:
			below, err := secondProto(is, body)
			if err != nil {
				return nil, err
			}
			m.fields[field] = append(m.fields[field], below)
		default:
			m.fields[field] = append(m.fields[field], body)
		}
	}
	return m, nil
}

func (m *secondMessage) number(field uint64) (n uint64) {
	for _, v := range m.fields[field] {
		n, _ = v.(uint64)
	}
	return n
}

func (m *secondMessage) bytes(field uint64) (out []byte) {
	for _, v := range m.fields[field] {
		p, _ := v.([]byte)
		out = append(out, p...)
	}
	return out
}

// secondTypes are the bits of an element of each type, and the field for its numbers.
var secondTypes = map[uint64][2]uint64{
	1: {32, 4}, 2: {8, 5}, 3: {8, 5}, 4: {16, 5}, 5: {16, 5}, 6: {32, 5}, 7: {64, 7}, 9: {8, 5}, 10: {16, 5}, 11: {64, 10}, 12: {32, 11}, 13: {64, 11},
	14: {64, 4}, 15: {128, 10}, 16: {16, 5}, 17: {8, 5}, 18: {8, 5}, 19: {8, 5}, 20: {8, 5}, 21: {4, 5}, 22: {4, 5}, 23: {4, 5}, 24: {8, 5}, 25: {2, 5}, 26: {2, 5},
}

// tensor is a tensor as text: its shape and its elements as bytes.
func (m *secondMessage) tensor() (dims []uint64, kind uint64, data []byte, where string, err error) {
	n := big.NewInt(1)
	for _, d := range m.fields[1] {
		dims = append(dims, d.(uint64))
		n.Mul(n, new(big.Int).SetUint64(d.(uint64)))
	}
	kind = m.number(2)
	t, known := secondTypes[kind]
	if len(m.fields[13]) > 0 {
		said := map[string]string{"offset": "0"}
		for _, p := range m.fields[13] {
			p := p.(*secondMessage)
			said[string(p.bytes(1))] = string(p.bytes(2))
		}
		where = " in " + said["location"] + " at " + said["offset"]
	}
	if !known || len(m.fields[13]) > 0 {
		return dims, kind, nil, where, nil // text and six bits are listed alone, data outside are not read
	}
	size := n.Mul(n, new(big.Int).SetUint64(t[0]))
	size.Add(size, big.NewInt(7)).Rsh(size, 3)
	switch {
	case len(m.fields[9]) > 0:
		data = m.bytes(9)
	case t[1] == 4 || t[1] == 10:
		data = m.bytes(t[1])
	default:
		width := max(t[0]/8, 1)
		for _, v := range m.fields[t[1]] {
			data = append(data, binary.LittleEndian.AppendUint64(nil, v.(uint64))[:width]...)
		}
	}
	if size.Cmp(big.NewInt(int64(len(data)))) != 0 {
		return nil, 0, nil, "", not("%d bytes of data, and shape and type need %v", len(data), size)
	}
	if t[0] < 8 && kind != 23 { // one a byte, the low bits first
		each, n := 8/int(t[0]), 1
		for _, d := range dims {
			n *= int(d)
		}
		packed, single := data, make([]byte, n)
		for i := range single {
			v := packed[i/each] >> (i % each * int(t[0])) & (1<<t[0] - 1)
			if (kind == 22 || kind == 26) && v>>(t[0]-1) == 1 {
				v |= 0xff << t[0]
			}
			single[i] = v
		}
		data = single
	}
	return dims, kind, data, "", nil
}

func (m *secondMessage) text() (string, error) {
	if m.kind == "Tensor" {
		dims, kind, data, where, err := m.tensor()
		return fmt.Sprintf("%v of type %d%s: %x", dims, kind, where, data), err
	}
	if len(m.fields[1]) != 1 || len(m.fields[2]) != 1 {
		return "", not("a sparse tensor without its parts")
	}
	_, kind, values, where, err := m.fields[1][0].(*secondMessage).tensor()
	if err != nil {
		return "", err
	}
	places, _, indices, outside, err := m.fields[2][0].(*secondMessage).tensor()
	if err != nil || where+outside != "" {
		return fmt.Sprintf("%v of type %d, sparse", m.fields[3], kind), err
	}
	size, total := int(secondTypes[kind][0]/8), 1
	for _, d := range m.fields[3] {
		total *= int(d.(uint64))
	}
	data := make([]byte, total*size)
	for i := range len(values) / size {
		at, axes := uint64(0), 1
		if len(places) == 2 {
			axes = int(places[1])
		}
		for a := range axes {
			index := binary.LittleEndian.Uint64(indices[8*(i*axes+a):])
			if len(places) == 2 {
				at = at*m.fields[3][a].(uint64) + index
			} else {
				at = index
			}
		}
		if at >= uint64(total) {
			return "", not("a place %d of %d", at, total)
		}
		copy(data[int(at)*size:], values[i*size:(i+1)*size])
	}
	return fmt.Sprintf("%v of type %d: %x", m.fields[3], kind, data), nil
}

// tensors lists all tensors below a message, and by their names those of the model's own graph.
func (m *secondMessage) tensors(own bool, names map[string]string, list *[]string) error {
	for field, values := range m.fields {
		for _, v := range values {
			below, ok := v.(*secondMessage)
			if !ok {
				continue
			}
			if below.kind != "Tensor" && below.kind != "Sparse" {
				if err := below.tensors(m.kind == "Model" && field == 7, names, list); err != nil {
					return err
				}
				continue
			}
			text, err := below.text()
			if err != nil {
				return err
			}
			if *list = append(*list, text); own {
				if below.kind == "Sparse" {
					below = below.fields[1][0].(*secondMessage)
				}
				names[string(below.bytes(8))] = text
			}
		}
	}
	return nil
}

// secondTypeNames are the names of TensorProto.DataType, from 1.
const secondTypeNames = "FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64 COMPLEX64 COMPLEX128 BFLOAT16 " +
	"FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ UINT4 INT4 FLOAT4E2M1 FLOAT8E8M0 UINT2 INT2 FLOAT6E2M3 FLOAT6E3M2"

// secondONNXText is a tensor as our reader reads it.
func secondONNXText(b *limits.Budget, f *onnx.File, i tensor.Info) (string, error) {
	kind := 1 + slices.Index(strings.Fields(secondTypeNames), i.Stored)
	if i.Part > 0 {
		return fmt.Sprintf("%v of type %d in %s at %d: ", i.Shape, kind, f.External[i.Part-1], i.Span.Off), nil
	}
	if i.DType == tensor.Unknown {
		return fmt.Sprintf("%v of type %d: ", i.Shape, kind), nil
	}
	r, err := f.Body(b, i)
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return fmt.Sprintf("%v of type %d: %x", i.Shape, kind, data), err
}

// secondONNXCheck compares both readers if ours takes the file.
func secondONNXCheck(t testing.TB, data []byte) bool {
	t.Helper()
	b := fuzz.Ceilings.Budget(t.Context())
	defer b.Close()
	f, err := onnx.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return false
	}
	defer f.Close()
	names, theirs, ours := map[string]string{}, []string(nil), map[string]string{}
	for i := range f.Tensors() {
		if ours[i.Name], err = secondONNXText(b, f, i); err != nil {
			return false // refused as it is read, or its parts lie in another file
		}
	}
	m, err := secondProto("Model", data)
	if err == nil {
		err = m.tensors(false, names, &theirs)
	}
	if err != nil {
		t.Fatalf("it is accepted, and the second reader refuses it: %v", err)
		return true
	}
	for name, want := range names {
		if ours[name] != want {
			t.Fatalf("%s is read as\n%s\nand by the second reader as\n%s", name, ours[name], want)
		}
	}
	slices.Sort(theirs)
	if a, b := strings.Join(slices.Sorted(maps.Values(ours)), "\n"), strings.Join(theirs, "\n"); a != b {
		t.Fatalf("it is accepted and read as\n%s\nand by the second reader as\n%s", a, b)
	}
	return true
}
