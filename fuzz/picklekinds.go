package fuzz

import "strings"

// The containers and calls that a [Pickle] may hold.

func (p *Pickle) tuple(depth int) {
	n := int(p.byte()) % 5
	if n > 0 && n < 4 && p.byte()&1 == 0 {
		for range n {
			p.value(depth + 1)
		}
		p.op([]string{"\x85", "\x86", "\x87"}[n-1])
		return
	}
	if n == 0 && p.byte()&1 == 0 {
		p.op(")")
		return
	}
	p.op("(")
	for range n {
		p.value(depth + 1)
	}
	p.op("t")
}

func (p *Pickle) listOf(depth int) {
	switch n := int(p.byte()) % 6; p.byte() % 3 {
	case 0:
		p.op("(")
		for range n {
			p.value(depth + 1)
		}
		p.op("l")
	case 1:
		p.op("]")
		for range n {
			p.value(depth + 1)
			p.op("a")
		}
	default:
		p.op("]")
		p.op("(")
		for range n {
			p.value(depth + 1)
		}
		p.op("e")
	}
}

// entries writes keys and values for the dict on top.
func (p *Pickle) entries(depth int) {
	n := int(p.byte()) % 12
	if p.byte()&1 == 0 {
		for range n {
			p.fresh()
			p.value(depth + 1)
			p.op("s")
		}
		return
	}
	p.op("(")
	for range n {
		p.fresh()
		p.value(depth + 1)
	}
	p.op("u")
}

func (p *Pickle) dict(depth int) {
	if p.byte()%3 > 0 {
		p.op("}")
		p.entries(depth)
		return
	}
	p.op("(")
	for range int(p.byte()) % 6 {
		p.fresh()
		p.value(depth + 1)
	}
	p.op("d")
}

func (p *Pickle) set() {
	fill := func() {
		for range int(p.byte()) % 12 {
			p.fresh()
		}
	}
	switch p.byte() % 4 {
	case 0:
		p.op("\x8f")
		p.op("(")
		fill()
		p.op("\x90")
	case 1:
		p.op("(")
		fill()
		p.op("\x91")
	default:
		p.global("builtins", []string{"set", "frozenset"}[p.byte()&1])
		p.op("(")
		fill()
		p.op("l")
		p.call(1)
	}
}

// classDict writes a dict or a list of one of the classes of collections.
func (p *Pickle) classDict(depth int) {
	kind := p.byte() % 5
	p.global("collections", []string{"OrderedDict", "Counter", "defaultdict", "deque", "OrderedDict"}[kind])
	switch kind {
	case 2:
		p.global("builtins", []string{"int", "list", "dict", "set"}[p.byte()%4])
		p.call(1)
		p.entries(depth)
	case 3:
		p.op("(")
		p.op("t")
		p.op("R")
		p.op("(")
		for range int(p.byte()) % 5 {
			p.value(depth + 1)
		}
		p.op("e")
	case 4: // as Python 2 wrote it: a list of pairs
		p.op("(")
		for range int(p.byte()) % 5 {
			p.fresh()
			p.value(depth + 1)
			p.op("\x86")
		}
		p.op("l")
		p.call(1)
	default:
		p.op(")")
		p.op("R")
		p.entries(depth)
		p.attributes(depth)
	}
}

// attributes gives the value on the stack a state with attributes.
func (p *Pickle) attributes(depth int) {
	if p.byte()&1 == 0 {
		return
	}
	p.op("}")
	p.text("_metadata")
	p.value(depth + 2)
	p.op("s")
	p.op("b")
}

// object writes a call whose result is data.
func (p *Pickle) object(depth int) {
	switch p.byte() % 9 {
	case 0:
		p.global("builtins", "complex")
		p.op("F1.5\n")
		p.op("F-2.0\n")
		p.call(2)
	case 1:
		p.global("builtins", "slice")
		p.op("N")
		p.integer(int64(p.byte()))
		p.op("N")
		p.call(3)
	case 2:
		p.global("builtins", "range")
		p.integer(0)
		p.integer(int64(p.byte()))
		p.integer(1)
		p.call(3)
	case 3:
		p.global("argparse", "Namespace")
		p.op(")")
		p.op("\x81")
		p.attributes(depth)
	case 4:
		p.global("pathlib", "PosixPath")
		p.text("a")
		p.text("b")
		p.call(2)
	case 5:
		p.global("torch", "Size")
		p.ints(int(p.byte()) % 4)
		p.call(1)
	case 6:
		p.global("torch", "device")
		p.text("cuda")
		p.integer(int64(p.byte() & 7))
		p.call(2)
	case 7:
		p.global("datetime", "datetime")
		p.with('C', 1, 10, "\x07\xe8\x05\x11\x01\x02\x03\x00\x00\x04")
		p.call(1)
	default:
		p.global("torch", []string{"float32", "bfloat16", "float8_e4m3fn", "per_tensor_affine", "FloatStorage"}[p.byte()%5])
	}
}

// ints writes a tuple of integers.
func (p *Pickle) ints(n int) {
	p.op("(")
	for range n {
		p.integer(int64(p.byte()))
	}
	p.op("t")
}

func (p *Pickle) storage() {
	p.op("(")
	p.text("storage")
	p.global("torch", []string{"FloatStorage", "LongStorage", "HalfStorage"}[p.byte()%3])
	p.text(string('0' + p.byte()%10))
	p.text("cpu")
	p.integer(int64(p.byte()))
	if p.byte()&7 == 0 {
		p.op("N")
	}
	p.op("t")
	p.op("Q")
}

// tensor writes a call of one of the rebuild functions.
func (p *Pickle) tensor() {
	if p.byte()&7 == 0 && p.replay(tensorKind) {
		return
	}
	version := p.byte() % 3
	p.global("torch._utils", []string{"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3"}[version])
	p.op("(")
	p.storage()
	p.integer(int64(p.byte()))
	n := int(p.byte()) % 4
	p.ints(n)
	p.ints(n)
	if version > 0 {
		p.op("\x89")
		p.global("collections", "OrderedDict")
		p.op(")")
		p.op("R")
	}
	if version == 2 {
		p.global("torch", "uint16")
	}
	p.op("t")
	p.op("R")
	p.put(tensorKind)
}

func (p *Pickle) parameter() {
	p.global("torch._utils", "_rebuild_parameter")
	p.tensor()
	p.op("\x88")
	p.op("N")
	p.call(3)
}

// dtype writes numpy.dtype with its state as NumPy does, of elements of four bytes.
func (p *Pickle) dtype() {
	if p.replay(dtypeKind) {
		return
	}
	p.global("numpy", "dtype")
	code := []string{"f4", "i4", "u4", "V4"}[p.byte()%4]
	order, size, alignment := "<", int64(-1), int64(-1)
	if code == "V4" {
		order, size, alignment = "|", 4, 1
	}
	p.text(code)
	p.op("\x89")
	p.op("\x88")
	p.call(3)
	p.op("(")
	p.integer(3)
	p.text(order)
	p.op("N")
	p.op("N")
	p.op("N")
	p.integer(size)
	p.integer(alignment)
	p.integer(0)
	p.op("t")
	p.op("b")
	p.put(dtypeKind)
}

func (p *Pickle) numpy() {
	module := []string{"numpy.core.multiarray", "numpy._core.multiarray"}[p.byte()&1]
	if p.byte()&1 == 0 {
		p.global(module, "scalar")
		p.dtype()
		p.with('C', 1, 4, "\x00\x00\x80\x3f")
		p.call(2)
		return
	}
	p.global(module, "_reconstruct")
	p.global("numpy", "ndarray")
	p.op("(") // no elements yet
	p.integer(0)
	p.op("t")
	p.with('C', 1, 1, "b")
	p.call(3)
	p.op("(")
	p.integer(1)
	rows, columns := int64(p.byte()%4), int64(p.byte()%4)
	p.op("(")
	p.integer(rows)
	p.integer(columns)
	p.op("t")
	p.dtype()
	p.op("\x89")
	size := 4 * rows * columns
	p.with('B', 4, uint64(size), strings.Repeat("\x3f", int(size)))
	p.op("t")
	p.op("b")
}
