package vm

import (
	"crypto/sha256"
	"io"
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A Graph is what one pickle describes: values that refer to each other. It is
// immutable and safe for concurrent use.
type Graph struct {
	b       *limits.Budget
	src     string  // the pickle's bytes, from file offset base on
	in      *source // what reads the bytes of src that were left out, or nil
	base    int64
	end     int64 // file offset after STOP
	proto   int
	root    ref
	nodes   arena[node]
	elems   arena[ref]
	side    []string // texts that are not in src unchanged
	ids     []ref    // every persistent id
	globals []*Global
	attrs   map[uint32]attr // of dicts, lists and sets that have any
	notes   []Note
	held    int64
	written map[*ClassSet]uint64 // versions of libraries that could have written the pickle

	weightsOnly Verdict
}

// An attr has the rare attributes of a container.
type attr struct {
	state ref // set by BUILD
	extra ref // factory of a defaultdict, maxlen of a deque
}

// A ref names a value: an integer of 31 bits, or the index of a node.
type ref uint32

const (
	inline    ref = 1 << 31 // the other bits are the integer
	minInline     = -1 << 30
	maxInline     = 1<<30 - 1
)

// The nodes at the beginning of every graph.
const (
	refAbsent ref = iota // no value
	refNone
	refFalse
	refTrue
	refEmpty // ()
	refFirst
)

// A node is one value. What a and n mean depends on the kind:
//
//	int            a, n   low and high half; with flagBig offset and length of little-endian bytes
//	float          a, n   low and high half of the bits
//	text, bytes    a, n   offset in src, or with flagSide index in side; length in bytes
//	tuple, list    a, n   first element, number of elements
//	set            a, n   first element, number of elements
//	dict           a, n   first of 2n elements, number of entries
//	global         a      index in globals
//	object         a      first of objSlots elements
//	persistent     a, n   the id, offset of the opcode in src
type node struct {
	kind  Kind
	flags uint8
	depth uint16 // levels of containers below and including this one
	a, n  uint32
	size  uint32 // values that a walk of the tree below visits, saturating
}

const (
	flagSide   uint8 = 1 << iota // text is in side
	flagBig                      // integer of more than 64 bits
	flagStored                   // something refers to the value
	flagNoHash                   // Python cannot use it as a key
	flagMark                     // scratch of measure
	flagDone                     // scratch of measure

	// flagFrozen is for containers, objects and persistent ids, which are never integers.
	flagFrozen = flagBig

	// flagRefused is for objects, which are never texts: a scan continued after their
	// call or state was refused.
	flagRefused = flagSide

	flagShift = 6 // the two highest bits are the class of a container
	flagClass = 3 << flagShift
)

// The elements of an object.
const (
	objCallee = iota
	objArgs
	objOff
	objState
	objSlots
)

// Root returns the value that STOP found.
func (g *Graph) Root() Value { return Value{g, g.root} }

// Protocol returns the operand of PROTO, or 0 without one.
func (g *Graph) Protocol() int { return g.proto }

// End returns the offset in the file of the byte after STOP. The caller decides what may
// follow.
func (g *Graph) End() int64 { return g.end }

// Globals lists every global that the pickle names, in order of appearance.
func (g *Graph) Globals() []*Global { return g.globals }

// Notes lists what is unusual about a pickle that was accepted.
func (g *Graph) Notes() []Note { return g.notes }

// WeightsOnly is the verdict of PyTorch's restricted loader.
func (g *Graph) WeightsOnly() Verdict { return g.weightsOnly }

// Release returns the graph's bytes to the account. Call it when nothing refers to the
// graph any more.
func (g *Graph) Release() {
	g.b.Drop(g.held)
	g.held = 0
}

func (g *Graph) node(r ref) *node { return g.nodes.at(uint32(r)) }

func (g *Graph) elem(i uint32) ref { return *g.elems.at(i) }

func (g *Graph) kind(r ref) Kind {
	if r >= inline {
		return KindInt
	}
	return g.node(r).kind
}

func (g *Graph) int64(r ref) (int64, bool) {
	if r >= inline {
		return int64(int32(r<<1)) >> 1, true
	}
	n := g.node(r)
	if n.kind != KindInt || n.flags&flagBig != 0 {
		return 0, false
	}
	return int64(uint64(n.n)<<32 | uint64(n.a)), true
}

func (g *Graph) float(r ref) float64 {
	n := g.node(r)
	return math.Float64frombits(uint64(n.n)<<32 | uint64(n.a))
}

// text returns the bytes of a text, of bytes or of a big integer.
func (g *Graph) text(r ref) string {
	n := g.node(r)
	if n.flags&flagSide != 0 {
		return g.side[n.a]
	}
	if g.in != nil && n.n >= longValue {
		g.in.fill(n.a, n.a+n.n)
	}
	return g.src[n.a : n.a+n.n]
}

// Unread returns the parts of the pickle that nothing has looked at, which are numbers of
// arrays, as offsets in the file and lengths, and the SHA-256 of all its other bytes in their order. The verdict of the scan holds for
// any file that has the same other bytes in the same places.
func (g *Graph) Unread() (parts [][2]int64, sum [sha256.Size]byte) {
	h := sha256.New()
	end := int(g.end - g.base)
	at := 0
	if g.in != nil {
		for _, hole := range g.in.text.Holes() {
			if hole.From < end {
				hole.To = min(hole.To, end)
				io.WriteString(h, g.src[at:hole.From])
				parts = append(parts, [2]int64{g.base + int64(hole.From), int64(hole.To - hole.From)})
				at = hole.To
			}
		}
	}
	io.WriteString(h, g.src[at:end])
	h.Sum(sum[:0])
	return parts, sum
}

// global returns the global that a value is, or that was called.
func (g *Graph) global(r ref) *Global {
	switch g.kind(r) {
	case KindGlobal:
		return g.globals[g.node(r).a]
	case KindObject:
		if callee := g.elem(g.node(r).a + objCallee); g.kind(callee) == KindGlobal {
			return g.globals[g.node(callee).a]
		}
	}
	return nil
}

// id returns the id of a global, of the callee, or of the class of a container. An object
// of a refused call or with a refused state has none, because its contents may not have
// the form that its class promises.
func (g *Graph) id(r ref) ID {
	if r >= inline {
		return NoID
	}
	switch n := g.node(r); n.kind {
	case KindBytes, KindList, KindDict, KindSet:
		return classes[n.kind][n.flags>>flagShift]
	case KindGlobal:
		return g.globals[n.a].ID
	case KindObject:
		if own := g.global(r); own != nil && n.flags&flagRefused == 0 {
			return own.ID
		}
	}
	return NoID
}

func (g *Graph) state(r ref) ref {
	if g.kind(r) == KindObject {
		return g.elem(g.node(r).a + objState)
	}
	return g.attrs[uint32(r)].state
}

func (g *Graph) off(r ref) int64 {
	if r >= inline {
		return -1
	}
	switch n := g.node(r); n.kind {
	case KindText, KindBytes:
		if n.flags&flagSide == 0 {
			return g.base + int64(n.a)
		}
	case KindGlobal:
		return g.globals[n.a].Off
	case KindObject:
		return g.base + int64(g.elem(n.a+objOff))
	case KindPersistent:
		return g.base + int64(n.n)
	}
	return -1
}
