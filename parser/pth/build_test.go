package pth_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
)

// A hollow file is a few pieces of bytes and zeros everywhere else, so that a
// checkpoint of any size costs no disk.
type hollow struct {
	size   int64
	pieces []piece
}

type piece struct {
	off  int64
	data []byte
}

func (h *hollow) put(data []byte) {
	h.pieces = append(h.pieces, piece{h.size, data})
	h.size += int64(len(data))
}

func (h *hollow) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), h.size-off))
	if n <= 0 {
		return 0, io.EOF
	}
	clear(p[:n])
	first, _ := slices.BinarySearchFunc(h.pieces, off, func(c piece, off int64) int {
		if c.off+int64(len(c.data)) <= off {
			return -1
		}
		return 1
	})
	for _, c := range h.pieces[first:] {
		if c.off >= off+int64(n) {
			break
		}
		from := max(0, off-c.off)
		copy(p[c.off+from-off:n], c.data[from:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// A weight is one F32 tensor with a storage of its own.
type weight struct {
	name  string
	shape []int64
}

func (w weight) elements() int64 {
	n := int64(1)
	for _, d := range w.shape {
		n *= d
	}
	return n
}

// A pickler writes opcodes of protocol 2 with the memo that Python keeps.
type pickler struct {
	bytes.Buffer
	memo map[string]int
	next int
}

func (p *pickler) put() {
	if p.next < 256 {
		p.Write([]byte{'q', byte(p.next)})
	} else {
		p.WriteByte('r')
		p.Write(binary.LittleEndian.AppendUint32(nil, uint32(p.next)))
	}
	p.next++
}

// once writes what is memoized: the first time the opcodes, then a GET.
func (p *pickler) once(code string) {
	if i, seen := p.memo[code]; seen {
		if i < 256 {
			p.Write([]byte{'h', byte(i)})
		} else {
			p.WriteByte('j')
			p.Write(binary.LittleEndian.AppendUint32(nil, uint32(i)))
		}
		return
	}
	p.memo[code] = p.next
	p.WriteString(code)
	p.put()
}

func (p *pickler) text(s string) {
	p.once("X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s)
}

func (p *pickler) number(n int64) {
	switch {
	case n < 256:
		p.Write([]byte{'K', byte(n)})
	case n < 65536:
		p.Write([]byte{'M', byte(n), byte(n >> 8)})
	default:
		p.WriteByte('J')
		p.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	}
}

func (p *pickler) tuple(list []int64) {
	if len(list) > 3 {
		p.WriteByte('(')
	}
	for _, n := range list {
		p.number(n)
	}
	p.WriteByte(")\x85\x86\x87tttt"[len(list)])
	if len(list) > 0 {
		p.put()
	}
}

// stateDict pickles weights as torch.save does.
func stateDict(weights []weight) []byte {
	p := &pickler{memo: map[string]int{}}
	p.WriteString("\x80\x02}")
	p.put()
	p.WriteByte('(')
	for i, w := range weights {
		p.text(w.name)
		p.once("ctorch._utils\n_rebuild_tensor_v2\n")
		p.WriteString("((")
		p.text("storage")
		p.once("ctorch\nFloatStorage\n")
		p.text(fmt.Sprint(i))
		p.text("cpu")
		p.number(w.elements())
		p.WriteByte('t')
		p.put()
		p.WriteString("QK\x00")
		p.tuple(w.shape)
		strides := make([]int64, len(w.shape))
		left := w.elements()
		for d, n := range w.shape {
			left /= n
			strides[d] = left
		}
		p.tuple(strides)
		p.WriteByte(0x89)
		p.once("ccollections\nOrderedDict\n")
		p.WriteString(")R")
		p.put()
		p.WriteByte('t')
		p.put()
		p.WriteByte('R')
		p.put()
	}
	p.WriteString("u.")
	return p.Bytes()
}

// archive lays weights out as torch.save does. Storages are holes, with the checksums of empty
// data.
func archive(weights []weight) *hollow {
	h := &hollow{}
	var dir bytes.Buffer
	count := 0
	member := func(name string, data []byte, hole int64) {
		name = "archive/" + name
		size := int64(len(data)) + hole
		start := h.size
		pad := int((64 - (start+30+int64(len(name))+4)%64) % 64)
		le := binary.LittleEndian
		head := []byte("PK\x03\x04\x00\x00\x08\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
		head = le.AppendUint16(head, uint16(len(name)))
		head = le.AppendUint16(head, uint16(4+pad))
		head = append(head, name...)
		head = append(head, 'F', 'B', byte(pad), 0)
		h.put(append(append(head, strings.Repeat("Z", pad)...), data...))
		h.size += hole
		crc := crc32.ChecksumIEEE(data)
		if size > 0 {
			d := le.AppendUint32([]byte("PK\x07\x08"), crc)
			h.put(le.AppendUint32(le.AppendUint32(d, uint32(size)), uint32(size)))
		}
		entry := []byte("PK\x01\x02\x00\x00\x00\x00")
		entry = le.AppendUint16(entry, 0x0808)
		entry = append(entry, 0, 0, 0, 0, 0, 0)
		entry = le.AppendUint32(le.AppendUint32(le.AppendUint32(entry, crc), uint32(size)), uint32(size))
		entry = le.AppendUint16(entry, uint16(len(name)))
		entry = append(entry, make([]byte, 12)...)
		entry = le.AppendUint32(entry, uint32(start))
		dir.Write(append(entry, name...))
		count++
	}
	member("data.pkl", stateDict(weights), 0)
	member(".format_version", []byte("1"), 0)
	member(".storage_alignment", []byte("64"), 0)
	member("byteorder", []byte("little"), 0)
	for i, w := range weights {
		member(fmt.Sprintf("data/%d", i), nil, 4*w.elements())
	}
	member("version", []byte("3\n"), 0)
	member(".data/serialization_id", bytes.Repeat([]byte("0"), 40), 0)
	start := h.size
	h.put(dir.Bytes())
	end := []byte("PK\x05\x06\x00\x00\x00\x00")
	end = binary.LittleEndian.AppendUint16(end, uint16(count))
	end = binary.LittleEndian.AppendUint16(end, uint16(count))
	end = binary.LittleEndian.AppendUint32(end, uint32(dir.Len()))
	end = binary.LittleEndian.AppendUint32(end, uint32(start))
	h.put(append(end, 0, 0))
	return h
}

// resnet is 267 weights with names and shapes like those of ResNet-50, scaled
// down by the divisor.
func resnet(divisor int64) []weight {
	var out []weight
	add := func(name string, shape ...int64) {
		for i := range shape {
			shape[i] = max(1, shape[i]/divisor)
		}
		out = append(out, weight{name, shape})
	}
	add("conv1.weight", 64, 3, 7, 7)
	for layer, blocks := range []int{3, 4, 6, 3} {
		width := int64(64) << layer
		for b := range blocks {
			for c := 1; c <= 3; c++ {
				name := fmt.Sprintf("layer%d.%d.", layer+1, b)
				add(fmt.Sprintf("%sconv%d.weight", name, c), width, width, 3, 3)
				for _, part := range []string{"weight", "bias", "running_mean", "running_var"} {
					add(fmt.Sprintf("%sbn%d.%s", name, c, part), width)
				}
			}
		}
	}
	for i := 0; len(out) < 265; i++ {
		add(fmt.Sprintf("layer%d.0.downsample.%d.weight", i+1, i), 256, 64, 1, 1)
	}
	add("fc.weight", 1000, 2048)
	add("fc.bias", 1000)
	return out
}
