package fuzz

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// A Checkpoint is a plan of what torch.save might write, made of a fuzzer's bytes:
// storages, tensors in them, and some defects. Mutations of a finished file break its
// checksums or its pickle; a mutated plan is another checkpoint.
type Checkpoint struct {
	Pickle   []byte   // for a legacy file: of the checkpoint only
	Storages [][]byte // by key: "0", "1", ...
	Sizes    []int    // of an element of each
	Keys     []byte   // the pickle of the keys, in order
	Defects  int      // number of deliberate defects
}

// Classes of storages, with the bytes of an element.
var storageClasses = [...]struct {
	name string
	size int
}{
	{"torch FloatStorage", 4}, {"torch LongStorage", 8}, {"torch ByteStorage", 1}, {"torch HalfStorage", 2}, {"torch BFloat16Storage", 2},
	{"torch DoubleStorage", 8}, {"torch BoolStorage", 1}, {"torch ComplexFloatStorage", 8}, {quantizedClass, 1}, {"torch.storage UntypedStorage", 1},
}

// quantizedClass is the class whose tensors have a quantizer.
const quantizedClass = "torch QInt8Storage"

var rebuildTypes = [...]string{"torch float8_e4m3fn", "torch uint16", "torch uint32", "torch float4_e2m1fn_x2", "torch complex32", "torch bits8", "torch float32"}

type planner struct {
	plan
	out    bytes.Buffer
	list   []planned
	legacy bool
	bad    int
}

type planned struct{ class, count int }

// NewCheckpoint reads a plan. A legacy file has other persistent ids.
func NewCheckpoint(data []byte, legacy bool) Checkpoint {
	p := &planner{plan: plan{data: data}, legacy: legacy}
	var c Checkpoint
	for range 1 + int(p.byte())%4 {
		s := planned{int(p.byte()) % len(storageClasses), int(p.byte()) % 40}
		p.list = append(p.list, s)
		size := storageClasses[s.class].size
		body := make([]byte, s.count*size)
		for i := 0; i < len(body); i += size { // small numbers, that indices may be
			body[i] = byte(i/size) % 4
		}
		c.Storages, c.Sizes = append(c.Storages, body), append(c.Sizes, size)
	}
	p.text("\x80\x02}(")
	for i := 0; i < 24 && (i == 0 || len(p.data) > 0); i++ {
		p.entry(i)
	}
	for i := range p.list { // each storage is named at least once
		p.unicode(fmt.Sprintf("s%d", i))
		p.storage(i)
	}
	p.text("u.")
	c.Pickle, c.Defects = p.out.Bytes(), p.bad
	c.Keys = p.keys()
	return c
}

func (p *planner) text(s string) { p.out.WriteString(s) }

func (p *planner) global(s string) { p.text("c" + strings.Replace(s, " ", "\n", 1) + "\n") }

func (p *planner) unicode(s string) {
	p.text("X")
	p.out.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
	p.text(s)
}

func (p *planner) int(n int) {
	if n >= 0 && n < 256 {
		p.text("K" + string([]byte{byte(n)}))
		return
	}
	p.text("J")
	p.out.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

// off returns 0 nearly always, else a small or huge error.
func (p *planner) off() int {
	if len(p.data) == 0 || p.data[0]&0x1f != 0x1f {
		return 0
	}
	p.bad++
	switch p.byte() >> 5 {
	case 0:
		return -1
	case 1:
		return 1 << 30
	case 2:
		return -1 << 30
	default:
		return 1
	}
}

// entry writes a key and its value: a tensor in one of many forms, or data.
func (p *planner) entry(i int) {
	switch kind := p.byte(); kind % 8 {
	case 0:
		p.int(i)
	case 1:
		p.unicode(fmt.Sprintf("w%d.x", i/2)) // names that may collide
	default:
		p.unicode(fmt.Sprintf("w%d", i))
	}
	switch p.byte() % 11 {
	case 0:
		p.text("]")
	case 1:
		p.text("}")
		p.unicode("x")
		p.tensor()
		p.text("s")
	case 2:
		p.text("](")
		p.tensor()
		p.text("Ne")
	case 3:
		p.global("torch._utils _rebuild_parameter")
		p.tensor()
		p.text("\x89")
		p.hooks()
		p.text("\x87R")
	case 4:
		p.sparse()
	case 5:
		p.unicode(strings.Map(func(r rune) rune { return r & 0x7f }, string(p.raw())))
	default:
		p.tensor()
	}
}

func (p *planner) hooks() { p.text("ccollections\nOrderedDict\n)R") }

func (p *planner) storage(i int) {
	s := p.list[i]
	p.text("(")
	p.unicode("storage")
	p.global(storageClasses[s.class].name)
	p.unicode(fmt.Sprint(i + p.off()))
	p.unicode("cpu")
	p.int(s.count + p.off())
	if p.legacy {
		p.text("N")
	}
	p.text("tQ")
}

// view writes offset, size and stride of a view that fits, or nearly does. It returns the
// size.
func (p *planner) view(count int) [2]int {
	rows := 1 + int(p.byte())%4
	cols := count / rows
	offset := 0
	if cols > 0 {
		offset = int(p.byte()) % (count - rows*cols + 1)
	}
	stride := [2]int{cols, 1}
	switch p.byte() % 8 {
	case 0:
		rows, cols, stride = cols, rows, [2]int{1, cols} // transposed
	case 1:
		stride[0] = 0 // expanded
	case 2:
		rows, stride = 1, [2]int{77, 1}
	}
	p.int(offset + p.off())
	p.int(rows + p.off())
	p.int(cols + p.off())
	p.text("\x86")
	p.int(stride[0] + p.off())
	p.int(stride[1] + p.off())
	p.text("\x86")
	return [2]int{rows, cols}
}

func (p *planner) tensor() {
	i := int(p.byte()) % len(p.list)
	s := p.list[i]
	switch storageClasses[s.class].name {
	case quantizedClass:
		p.quantized(i)
		return
	case "torch.storage UntypedStorage":
		p.global("torch._utils _rebuild_tensor_v3")
		p.text("(")
		p.storage(i)
		p.view(s.count / 4)
		p.text("\x89")
		p.hooks()
		p.global(rebuildTypes[int(p.byte())%len(rebuildTypes)])
		p.text("tR")
		return
	}
	p.global("torch._utils _rebuild_tensor_v2")
	p.text("(")
	p.storage(i)
	p.view(s.count)
	p.text("\x89")
	p.hooks()
	switch p.byte() % 16 {
	case 0:
		p.text("}")
		p.unicode("neg")
		p.text("\x88s")
	case 1:
		p.text("}")
		p.unicode("conj")
		p.text("\x88s")
	}
	p.text("tR")
}

// dense writes a row-major tensor of this size at the beginning of storage i.
func (p *planner) dense(i int, size ...int) {
	p.global("torch._utils _rebuild_tensor_v2")
	p.text("(")
	p.storage(i)
	p.int(p.off())
	p.text("(")
	for _, n := range size {
		p.int(n)
	}
	p.text("t(")
	for d := range size {
		stride := 1
		for _, n := range size[d+1:] {
			stride *= n
		}
		p.int(stride)
	}
	p.text("t\x89")
	p.hooks()
	p.text("tR")
}

// sparse writes a sparse tensor of 4 x 4, with indices in a storage of integers if there
// is one.
func (p *planner) sparse() {
	i := 0
	for i < len(p.list) && (storageClasses[p.list[i].class].name != "torch LongStorage" || p.list[i].count < 2) {
		i++
	}
	v := int(p.byte()) % len(p.list)
	if values := storageClasses[p.list[v].class].name; i == len(p.list) || values == "torch.storage UntypedStorage" || values == quantizedClass {
		p.tensor()
		return
	}
	p.global("torch._utils _rebuild_sparse_tensor")
	p.global("torch.serialization _get_layout")
	n := min(p.list[i].count/2, p.list[v].count)
	if p.byte()&1 == 0 {
		p.unicode("torch.sparse_coo")
		p.text("\x85R(")
		p.dense(i, 2, n)
	} else {
		p.unicode("torch.sparse_csr")
		p.text("\x85R(")
		p.dense(i, min(5, p.list[i].count))
		p.dense(i, n)
	}
	p.dense(v, n)
	p.int(4 + p.off())
	p.int(4 + p.off())
	p.text("\x86t\x86R")
}

// quantized writes a tensor with its quantizer in storage i.
func (p *planner) quantized(i int) {
	p.global("torch._utils _rebuild_qtensor")
	p.text("(")
	p.storage(i)
	size := p.view(p.list[i].count)
	p.text("(")
	if p.byte()&1 == 0 {
		p.global("torch per_tensor_affine")
		p.int(1)
		p.int(0)
	} else {
		p.global("torch per_channel_affine")
		for range 2 {
			p.text("](")
			for range min(size[0]+p.off(), 64) {
				p.int(1)
			}
			p.text("e")
		}
		p.int(p.off())
	}
	p.text("t\x89")
	p.hooks()
	p.text("tR")
}

// keys returns the pickle of the list of keys.
func (p *planner) keys() []byte {
	p.out = bytes.Buffer{}
	p.text("\x80\x02](")
	for i := range p.list {
		p.unicode(fmt.Sprint(i + p.off()))
	}
	p.text("e.")
	return p.out.Bytes()
}

// Archive returns the recipe of an archive of the checkpoint, with the other members that
// torch.save writes. The fuzzer's last byte may omit some.
func (c Checkpoint) Archive(control byte) string {
	var out strings.Builder
	out.WriteString("# built by a fuzz target\nexpect: ok\n--\nzip zip64=yes {\n")
	add := func(name, body string) { fmt.Fprintf(&out, "\tentry \"a/%s\" align=64 { %s }\n", name, body) }
	add("data.pkl", fmt.Sprintf("hex %x", c.Pickle))
	if control&1 != 0 {
		add("byteorder", [...]string{`str "little"`, `str "big"`}[control>>1&1])
	}
	for i, s := range c.Storages {
		if len(s) == 0 {
			add(fmt.Sprintf("data/%d", i), "")
			continue
		}
		add(fmt.Sprintf("data/%d", i), fmt.Sprintf("hex %x", s))
	}
	switch {
	case control>>4 == 15:
	case control&4 != 0:
		add(".data/version", `str "6\n"`)
	default:
		add("version", `str "3\n"`)
	}
	if control&8 != 0 {
		add("extra.txt", `str "x"`)
	}
	out.WriteString("}\n")
	return out.String()
}

// legacyHead are the three pickles before a checkpoint.
const legacyHead = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." + "\x80\x02M\xe9\x03." +
	"\x80\x02}(X\x10\x00\x00\x00protocol_versionM\xe9\x03X\x0d\x00\x00\x00little_endian\x88u."

// Legacy returns the plan as a legacy file.
func (c Checkpoint) Legacy() []byte {
	out := append([]byte(legacyHead), c.Pickle...)
	out = append(out, c.Keys...)
	for i, s := range c.Storages {
		out = binary.LittleEndian.AppendUint64(out, uint64(len(s)/c.Sizes[i]))
		out = append(out, s...)
	}
	return out
}
