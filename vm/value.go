package vm

import (
	"iter"
	"math"
	"math/big"
)

// A Kind says what sort of data a [Value] is.
type Kind uint8

// The kinds.
const (
	KindNone       Kind = iota
	KindBool            // True, False
	KindInt             // an integer of any size
	KindFloat           // a double
	KindText            // str, also a Python 2 str that is valid UTF-8
	KindBytes           // bytes, bytearray, any other Python 2 str
	KindTuple           // tuple
	KindList            // list, deque
	KindDict            // dict, OrderedDict, Counter, defaultdict
	KindSet             // set, frozenset
	KindGlobal          // a class, function or constant, known by its name
	KindObject          // what a call of a global stands for
	KindPersistent      // a persistent id: for PyTorch, a storage
)

var kindNames = [...]string{
	"none", "bool", "int", "float", "str", "bytes", "tuple", "list", "dict", "set", "global", "object", "persistent",
}

func (k Kind) String() string { return kindNames[k] }

// A Value is one value of a [Graph]: two words, no copy of anything. Values of
// one graph are equal by == when they are the same object of the pickle, so a
// Value can key a map of what was seen already.
type Value struct {
	g *Graph
	r ref
}

// Kind returns the value's kind.
func (v Value) Kind() Kind { return v.g.kind(v.r) }

// Bool returns the truth of a KindBool.
func (v Value) Bool() bool { return v.r == refTrue }

// Int returns a KindInt that fits 64 bits.
func (v Value) Int() (int64, bool) { return v.g.int64(v.r) }

// Big returns any KindInt, or nil.
func (v Value) Big() *big.Int {
	if n, ok := v.Int(); ok {
		return big.NewInt(n)
	}
	if v.Kind() != KindInt {
		return nil
	}
	return decodeBig(v.g.text(v.r))
}

// Float returns a KindFloat.
func (v Value) Float() float64 {
	if v.Kind() != KindFloat {
		return math.NaN()
	}
	return v.g.float(v.r)
}

// Text returns the characters of a KindText or the bytes of a KindBytes. It is
// no copy: it keeps the pickle's bytes alive. A text is UTF-8, except that it
// may hold lone surrogates, as Python's may.
func (v Value) Text() string {
	switch v.Kind() {
	case KindText, KindBytes:
		return v.g.text(v.r)
	default:
		return ""
	}
}

// Len returns the number of elements of a tuple, list, set or dict, or the
// length of a text in bytes.
func (v Value) Len() int {
	switch v.Kind() {
	case KindText, KindBytes, KindTuple, KindList, KindDict, KindSet:
		return int(v.g.node(v.r).n)
	default:
		return 0
	}
}

// At returns element i of a tuple, list or set, 0 <= i < Len.
func (v Value) At(i int) Value {
	n := v.g.node(v.r)
	return Value{v.g, v.g.elem(n.a + uint32(i))}
}

// Elems yields the elements of a tuple, list or set.
func (v Value) Elems() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		switch v.Kind() {
		case KindTuple, KindList, KindSet:
			for i := range v.Len() {
				if !yield(v.At(i)) {
					return
				}
			}
		}
	}
}

// Entry returns the key and the value of entry i of a dict, 0 <= i < Len, in
// the order in which the keys were first set.
func (v Value) Entry(i int) (key, value Value) {
	at := v.g.node(v.r).a + 2*uint32(i)
	return Value{v.g, v.g.elem(at)}, Value{v.g, v.g.elem(at + 1)}
}

// Entries yields the entries of a dict in the order in which the keys were
// first set.
func (v Value) Entries() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		if v.Kind() != KindDict {
			return
		}
		for i := range v.Len() {
			if !yield(v.Entry(i)) {
				return
			}
		}
	}
}

// Lookup finds the entry of a dict whose key is a text. It looks at every entry
// in turn: iterate where many are wanted.
func (v Value) Lookup(key string) (Value, bool) {
	for k, value := range v.Entries() {
		if k.Kind() == KindText && k.Text() == key {
			return value, true
		}
	}
	return Value{}, false
}

// Ints returns the elements of a tuple, list or torch.Size whose elements are
// all integers of 64 bits, appended to dst. The caller bounds and charges:
// Shape says how many there are before anything is copied.
func (v Value) Ints(dst []int64) ([]int64, bool) {
	v, ok := v.shape()
	if !ok {
		return dst, false
	}
	for i := range v.Len() {
		n, ok := v.At(i).Int()
		if !ok {
			return dst, false
		}
		dst = append(dst, n)
	}
	return dst, true
}

// Dims returns how many integers Ints would give.
func (v Value) Dims() (int, bool) {
	v, ok := v.shape()
	if !ok {
		return 0, false
	}
	return v.Len(), true
}

// shape looks through torch.Size.
func (v Value) shape() (Value, bool) {
	if v.Is(TorchSize) {
		args := v.Args()
		if args.Len() == 0 {
			return args, true
		}
		v = args.At(0)
	}
	return v, v.Kind() == KindTuple || v.Kind() == KindList
}

// Global returns the global that a KindGlobal is, or whose call a KindObject
// stands for; nil for other kinds, and for a call of what a call gave.
func (v Value) Global() *Global { return v.g.global(v.r) }

// ID is the id of Global, or the class of a container: [OrderedDict], [Deque],
// [FrozenSet], [ByteArray]; NoID for dict, list, set and bytes, and for what a
// refused call gave or a refused state was given to.
func (v Value) ID() ID { return v.g.id(v.r) }

// Is reports whether ID is this id.
func (v Value) Is(id ID) bool { return v.ID() == id }

// Args returns the tuple that a KindObject was called with.
func (v Value) Args() Value {
	if v.Kind() != KindObject {
		return Value{v.g, refEmpty}
	}
	return Value{v.g, v.g.elem(v.g.node(v.r).a + objArgs)}
}

// State returns what BUILD gave to the value: the state of an object, or the
// attributes of a dict such as the _metadata of a state dict. False means none.
func (v Value) State() (Value, bool) {
	r := v.g.state(v.r)
	return Value{v.g, r}, r != refAbsent
}

// Extra returns the factory of a defaultdict or the maxlen of a deque.
func (v Value) Extra() (Value, bool) {
	r := v.g.attrs[uint32(v.r)].extra
	return Value{v.g, r}, r != refAbsent
}

// String says in a few words what the value is, for messages: texts are quoted
// and cut, containers are shown by their kind.
func (v Value) String() string { return v.g.show(v.r) }

// Shape says what kinds of values the value is made of, for messages:
// "(storage, int, (int, int))".
func (v Value) Shape() string { return v.g.shape(v.r) }

// PID returns the persistent id itself.
func (v Value) PID() Value {
	if v.Kind() != KindPersistent {
		return Value{v.g, refNone}
	}
	return Value{v.g, ref(v.g.node(v.r).a)}
}

// Off is the offset in the file of the opcode that made a global (where it is first named), an
// object or a persistent id, and of the payload of a text or of bytes that are stored unchanged in
// the file. Others give -1.
func (v Value) Off() int64 { return v.g.off(v.r) }
