package vm

import "strings"

// takes reports whether a tuple of arguments matches a signature.
func (m *matcher) takes(signature string, args ref) bool {
	if signature == "-" {
		return false
	}
	for {
		end := strings.IndexByte(signature, '|')
		if end < 0 {
			return m.takesOne(signature, m.g.node(args))
		}
		if m.takesOne(signature[:end], m.g.node(args)) {
			return true
		}
		signature = signature[end+1:]
	}
}

func (m *matcher) takesOne(signature string, args *node) bool {
	optional, prev := false, refAbsent
	for i := uint32(0); ; i++ {
		if signature != "" && signature[0] == '?' {
			optional, signature = true, signature[1:]
		}
		switch {
		case signature == "":
			return i == args.n
		case signature[0] == '*':
			return m.takesAll(signature[1], args, i)
		case i == args.n:
			return optional
		}
		arg := m.g.elem(args.a + i)
		if !m.fits(signature[:1], arg, prev) {
			return false
		}
		if signature[0] != 'C' { // the class is between a function and its arguments
			prev = arg
		}
		signature = signature[1:]
	}
}

func (m *matcher) takesAll(letter byte, args *node, from uint32) bool {
	m.cost += int64(args.n - from)
	for i := from; i < args.n; i++ {
		if !m.fits(string(letter), m.g.elem(args.a+i), refAbsent) {
			return false
		}
	}
	return true
}

// fits reports whether a value is of the kind that a letter stands for; prev is the
// argument before it. An empty letter takes nothing.
func (m *matcher) fits(letter string, r, prev ref) bool {
	if letter == "" {
		return false
	}
	kind := m.g.kind(r)
	switch letter[0] {
	case 'b':
		return kind == KindBool
	case 'i':
		return m.g.isInt64(r)
	case 'z': // an integer or None
		return r == refNone || m.g.isInt64(r)
	case 'n':
		return r == refNone
	case 'v':
		return true
	case 'f':
		return kind == KindFloat || m.g.isInt64(r)
	case 't':
		return kind == KindText
	case 'l':
		return kind == KindText && isLatin1(m.g.text(r))
	case 'u':
		return kind == KindText && isUTF8(m.g.text(r))
	case 'y': // bytes or a bytearray
		return kind == KindBytes
	case 'w':
		return m.isBytes(r)
	case 'x': // bytes; Python 2 wrote them as str
		return m.isBytes(r) || kind == KindText
	case 'e': // the elements of a container
		return kind == KindList || kind == KindTuple || kind == KindDict || kind == KindSet
	case 'E':
		return kind == KindDict || kind == KindList
	case 'S':
		return kind == KindPersistent
	default:
		return m.fitsState(letter[0], r, prev, kind)
	}
}

// fitsState has the letters of states and of the globals that make plain data.
func (m *matcher) fitsState(letter byte, r, prev ref, kind Kind) bool {
	if letter == 'I' { // the most frequent one: the shape of a tensor
		return m.isInts(r)
	}
	object, global, id := kind == KindObject, kind == KindGlobal, m.g.id(r)
	switch letter {
	case 'k', 'g': // None is accepted as well
		return kind == KindDict || letter == 'g' && r == refNone
	case 'h': // hooks: torch writes none, and calls any that are there
		return r == refNone || kind == KindDict && m.g.node(r).n == 0
	case 'A':
		return kind == KindDict && m.attributes(r, ownedByDicts)
	case 'B':
		return kind == KindDict && m.attributes(r, ownedByNamespaces)
	case 's':
		return m.isState(r)
	case 'F': // the factory of a defaultdict
		return r == refNone || global && (id >= OrderedDict && id <= ByteArray || id == BytesType || id == PlainType)
	case 'G': // object, which the state of a SimpleNamespace refers to
		return global && id == Namespace && m.g.global(r).Module == "argparse"
	case 'c':
		return global && id == PlainType && m.g.global(r).Name == "object"
	case 'Z':
		return r == refNone || kind == KindInt || kind == KindBool || kind == KindBytes || kind == KindText || object && id == DateTime
	default:
		return m.fitsTorch(letter, r, prev, kind, id)
	}
}

// fitsTorch has the letters of PyTorch.
func (m *matcher) fitsTorch(letter byte, r, prev ref, kind Kind, id ID) bool {
	object, global := kind == KindObject, kind == KindGlobal
	switch letter {
	case 'O': // the class of a storage
		return global && (id == TorchStorage || id == TorchUntyped)
	case 'T':
		return object && isTensor(id)
	case 'd':
		return global && id == TorchDType
	case 'C':
		return global && (id == TorchTensor || id == TorchParameter)
	case 'D':
		return kind == KindText || object && id == TorchDevice
	case 'L':
		return object && id == TorchLayout
	case 'P': // the parts of a sparse tensor
		return kind == KindTuple && m.all(r, func(r ref) bool {
			return m.fits("T", r, refAbsent) || m.isInts(r) || m.g.kind(r) == KindBool || r == refNone
		})
	case 'q':
		return kind == KindTuple && m.isQuantizer(r)
	case 'R':
		return global && isRebuild(id)
	case '(': // the arguments of the function before it
		return kind == KindTuple && m.takes(rules[m.g.id(prev)].call, r) && m.suits(m.g.id(prev), prev, r)
	case 'V':
		return kind == KindTuple && m.takes("bbh|Tnhbb|Tnhbn|SiII", r)
	case 'W':
		return kind == KindTuple && m.takesOne("SiII", m.g.node(r))
	default:
		return m.fitsNumpy(letter, r, kind, id)
	}
}

// fitsNumpy has the letters of NumPy.
func (m *matcher) fitsNumpy(letter byte, r ref, kind Kind, id ID) bool {
	object, global := kind == KindObject, kind == KindGlobal
	switch letter {
	case 'a':
		return object && (id == NumpyReconstruct || id == NumpyFromBuffer)
	case 'N':
		return global && (id == NumpyArray || id == NumpySubclass)
	case 'J':
		return object && id == NumpyDType
	case 'j': // a flag
		_, ok := m.flag(r)
		return ok
	case 'X':
		return global && id == NumpyType && classCode(m.g.global(r).Name) != "" || kind == KindText && isCode(m.g.text(r))
	case '0': // the shape of an array that BUILD describes
		return kind == KindTuple && m.g.node(r).n == 1 && m.g.elem(m.g.node(r).a) == inline
	case 'Y':
		return kind == KindTuple && (m.takesOne("iIJbp", m.g.node(r)) || m.takesOne("IJbp", m.g.node(r)))
	case 'p': // the elements of an array: bytes, or a list of objects
		return kind == KindList || m.fits("x", r, refAbsent)
	case 'K':
		return kind == KindTuple && m.isDTypeState(m.g.node(r))
	}
	panic("internal error: no letter of a signature: " + string(letter))
}

// isTensor reports whether calls of a global give a tensor.
func isTensor(id ID) bool {
	return isRebuild(id) || id == TorchParameter || id == TorchTensor
}

func isRebuild(id ID) bool { return id >= RebuildTensor && id <= RebuildFromType }

func (g *Graph) isInt64(r ref) bool {
	_, ok := g.int64(r)
	return ok
}

// isBytes reports whether r is bytes and not a bytearray.
func (m *matcher) isBytes(r ref) bool { return m.g.kind(r) == KindBytes && m.g.id(r) != ByteArray }

// all reports whether every element of a tuple, list or set passes. The list may have
// grown since the memo replayed it, so each check is charged.
func (m *matcher) all(r ref, pass func(ref) bool) bool {
	n := m.g.node(r)
	m.cost += int64(n.n)
	for i := range n.n {
		if !pass(m.g.elem(n.a + i)) {
			return false
		}
	}
	return true
}

// isInts reports whether r is a tuple, list or torch.Size of integers.
func (m *matcher) isInts(r ref) bool {
	switch m.g.kind(r) {
	case KindTuple, KindList:
		return m.all(r, m.g.isInt64)
	case KindObject:
		return m.g.id(r) == TorchSize
	}
	return false
}

// attributes reports whether r is a dict of harmless attribute names. Names with two
// leading underscores belong to Python, and names that the class has already (owned)
// would replace a method or an internal attribute.
func (m *matcher) attributes(r ref, owned string) bool {
	n := m.g.node(r)
	m.cost += int64(n.n)
	for i := range n.n {
		key := m.g.elem(n.a + 2*i)
		if m.g.kind(key) != KindText || strings.HasPrefix(m.g.text(key), "__") || owns(owned, m.g.text(key)) {
			return false
		}
	}
	return true
}

// isState reports whether r is the state of a tensor: attributes or None, or a pair of
// these.
func (m *matcher) isState(r ref) bool {
	if m.g.kind(r) != KindTuple {
		return m.isStatePart(r)
	}
	n := m.g.node(r)
	if n.n != 2 {
		return false
	}
	first, second := m.g.elem(n.a), m.g.elem(n.a+1)
	return m.isStatePart(first) && m.isStatePart(second) && (m.isNothing(first) || m.isNothing(second))
}

func (m *matcher) isStatePart(r ref) bool {
	return r == refNone || m.g.kind(r) == KindDict && m.attributes(r, ownedByTensors)
}

// isNothing reports whether r is None or an empty dict.
func (m *matcher) isNothing(r ref) bool { return r == refNone || m.g.node(r).n == 0 }

// isQuantizer reports whether r is (scheme, scale, zero point) or (scheme, scales, zero
// points, axis).
func (m *matcher) isQuantizer(r ref) bool {
	n := m.g.node(r)
	if n.n != 3 && n.n != 4 || m.g.id(m.g.elem(n.a)) != TorchQScheme {
		return false
	}
	if n.n == 3 {
		return m.fits("f", m.g.elem(n.a+1), refAbsent) && m.fits("i", m.g.elem(n.a+2), refAbsent)
	}
	for i := uint32(1); i < 3; i++ {
		part := m.g.elem(n.a + i)
		numbers := m.g.kind(part) == KindList && m.all(part, func(r ref) bool { return m.fits("f", r, refAbsent) })
		if !numbers && !m.fits("T", part, refAbsent) {
			return false
		}
	}
	return m.fits("i", m.g.elem(n.a+3), refAbsent)
}
