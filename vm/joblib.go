package vm

import (
	"io"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A reading is how a loader handles joblib's NumpyArrayWrapper, whose array follows in
// the stream after the BUILD that describes it. joblib/numpy_pickle.py (1.6) is the
// reference.
type reading uint8

const (
	unread   reading = iota // the class is unknown
	skipped                 // joblib: the bytes are data
	unpadded                // joblib before 1.2: the bytes are data without padding
	executed                // pickle.load: an ordinary object, and the bytes are instructions
)

// ScanPlain is [ScanNext] for a pickle that is a file of its own, which
// may be one of joblib without compression: the bytes of its arrays are data.
// Loaders that take them for instructions are asked as well: what one of them
// would run is reported, and a file that two loaders would read as different
// values is refused.
func ScanPlain(b *limits.Budget, r io.ReaderAt, off, end int64) *Report {
	out, arrays, padded := scanAs(b, skipped, r, off, end)
	if arrays == 0 {
		return out
	}
	for _, as := range [...]reading{unpadded, executed} {
		if as == executed || padded {
			other, _, _ := scanAs(b, as, r, off, end)
			out.differs(other)
			other.Graph.Release()
		}
	}
	return out
}

func scanAs(b *limits.Budget, as reading, r io.ReaderAt, off, end int64) (out *Report, arrays int, padded bool) {
	m := newMachine(b, r, off, end)
	m.arrays.as = as
	if as == skipped {
		m.in.sparse, m.g.in = true, m.in
	}
	return scan(m, false), m.arrays.seen, m.arrays.padded
}

// differs adds the objections that come from a loader which reads the pickle in another way. Most
// often that loader finds no opcode in the first byte of the data, which is not an objection.
func (r *Report) differs(other *Report) {
	if e, ok := r.apart(other); ok {
		f := other.forbiddenBy(&e)
		if e.Use == UseGlobal && f.Status == Unknown && hasName(wrapperWords, f.Module) {
			return // it fails to import a module of this name
		}
		if r.forbidden == nil {
			r.forbidden = &wire.Error{Format: Format, Where: e.Op, Off: f.Off, Err: f}
		}
		r.differ = true
		r.Safe.add(Reason{Code: "array", Off: f.Off, Text: "to a loader that runs the bytes of an array, " + f.Error()})
		r.Safe.OK = false
	}
	err := other.Err
	if c := wire.ClassOf(err); err == nil {
		err = &wire.Error{Format: Format, Off: r.Graph.base, Err: wire.ErrUnsupported.WithRule("pickle.joblib-two-ways").Errorf("joblib and a plain unpickler read these arrays differently, both to the end")}
	} else if c != wire.Limit && c != wire.Internal {
		return
	}
	if r.Err == nil {
		r.Err = err
		r.Safe.add(broken(err))
		r.Safe.OK = false
	}
}

// wrapperWords are the texts that joblib writes for a wrapper, none of which is a module.
// In the pickle of an array of objects, numbers of the memo mean these texts to a plain
// unpickler.
const wrapperWords = "NumpyArrayWrapper allow_mmap dtype ndarray numpy_array_alignment_bytes order shape subclass"

// apart returns the first thing that another reading is refused and this one does not ask for, or
// asks for as a class set says while the other does not. Events are in the order of the file.
func (r *Report) apart(other *Report) (Event, bool) {
	at := uint32(0)
	for e := range other.Events() {
		if e.OK {
			continue
		}
		off := uint32(e.Off - r.Graph.base)
		for at < r.events.len && r.events.at(at).off < off {
			at++
		}
		known := false
		for i := at; i < r.events.len && r.events.at(i).off == off; i++ {
			own := r.events.at(i)
			known = known || own.use == e.Use && !own.ok && (e.Fits || !own.fits)
		}
		if !known {
			return e, true
		}
	}
	return Event{}, false
}

// DisassemblePlain is [Disassemble] for a pickle that [ScanPlain] scans. An array
// of joblib is part of the BUILD before it.
func DisassemblePlain(b *limits.Budget, r io.ReaderAt, off, end int64) iter.Seq2[Line, error] {
	return disassemble(b, r, off, end, skipped)
}

const (
	joblibModule, joblibName = "joblib.numpy_pickle", "NumpyArrayWrapper"
	// scikit-learn before 0.21 has joblib 0.11 to 0.13 inside it.
	joblibInside = "sklearn.externals." + joblibModule
)

// judgeJoblib allows the one class of joblib that is data. Of its two modules a pickle may name one:
// a joblib that takes the arrays of one for data takes those of the other for instructions.
func (m *machine) judgeJoblib(g *Global) {
	if m.arrays.as == unread || g.Name != joblibName || g.Module != joblibModule && g.Module != joblibInside {
		return
	}
	if m.arrays.module == "" {
		m.arrays.module = g.Module
	}
	if m.arrays.module == g.Module {
		g.ID, g.Status, g.Reason = JoblibArray, Allowed, ""
	}
}

// An arrayState is the description of an array.
type arrayState struct {
	shape, dtype ref
	padded       bool // a byte before the data has the length of the padding
}

// arrayState reads the state of a wrapper: exactly the attributes that joblib writes,
// since others might replace its methods. Versions before 1.2 write no alignment.
func (m *matcher) arrayState(r ref) (s arrayState, ok bool) {
	n, required := m.g.node(r), 0
	for i := range n.n {
		key, v, fits := m.g.elem(n.a+2*i), m.g.elem(n.a+2*i+1), false
		switch m.g.text(key) {
		case "subclass":
			required, fits = required+1, m.fits("N", v, refAbsent)
		case "shape": // must be a tuple, which cannot change afterwards
			s.shape, required, fits = v, required+1, m.g.kind(v) == KindTuple && m.isInts(v)
		case "order":
			required, fits = required+1, m.g.kind(v) == KindText
		case "dtype":
			s.dtype, required, fits = v, required+1, m.fits("J", v, refAbsent)
		case "allow_mmap":
			fits = m.g.kind(v) == KindBool
		case "numpy_array_alignment_bytes":
			s.padded, fits = true, m.g.isInt64(v)
		}
		if !fits {
			return s, false
		}
	}
	return s, required == 4
}

// array handles the BUILD of a wrapper, which its array follows.
func (m *machine) array(state ref) error {
	s, ok := m.match.arrayState(state)
	if err := m.settle(); err != nil {
		return err
	}
	if !ok {
		return wire.ErrUnsupported.WithRule("pickle.joblib-array").Errorf("an array of joblib that is not described as joblib does")
	}
	if m.isObjectType(s.dtype) {
		return m.objects(s)
	}
	size, err := m.arraySize(s)
	if err != nil {
		return err
	}
	m.arrays.seen++
	m.arrays.padded = m.arrays.padded || s.padded
	if m.arrays.as == executed {
		return nil
	}
	// Loaders buffer a whole frame while they read the arrays after it.
	if m.frame > m.pos {
		return wire.ErrSyntax.WithRule("pickle.joblib-frame").Errorf("an array of joblib begins inside a frame")
	}
	m.frame = 0
	m.limit()
	if s.padded && m.arrays.as == skipped {
		padding, err := m.u8()
		if err == nil {
			_, err = m.data(uint64(padding))
		}
		if err != nil {
			return err
		}
	}
	return m.holds(m.top(), size)
}

// holds reads the bytes of an array and keeps their place with the wrapper, for rules that look at
// numbers. Each reading looks at what it takes for them.
func (m *machine) holds(wrapper ref, size uint64) error {
	at, err := m.bulk(size)
	if err != nil {
		return err
	}
	bytes, err := m.add(node{kind: KindBytes, a: uint32(at), n: uint32(size), size: 1})
	if err != nil {
		return err
	}
	return m.setAttr(wrapper, attr{extra: bytes}, false)
}

// held returns what a wrapper is replaced by: its bytes, or an array of objects.
func (m *matcher) held(wrapper ref) ref {
	return m.g.attrs[uint32(wrapper)].extra
}

// joblibView returns the parts of an array of joblib.
func (m *matcher) joblibView(r ref) (v arrayView, ok bool) {
	data := m.held(r)
	state := m.g.state(r)
	if data == refAbsent || state == refAbsent || m.g.kind(state) != KindDict {
		return v, false
	}
	if m.g.kind(data) != KindBytes {
		return m.view(data)
	}
	s, ok := m.arrayState(state)
	return arrayView{s.shape, s.dtype, data}, ok
}

// isJoblibArray reports whether a wrapper is one of numpy.ndarray that has data.
func (m *matcher) isJoblibArray(r ref) bool {
	data := m.held(r)
	if data == refAbsent || m.g.kind(m.g.state(r)) != KindDict {
		return false
	}
	if m.g.kind(data) != KindBytes {
		return m.isArray(data)
	}
	subclass := m.valueAt(m.g.state(r), "subclass")
	return subclass != refAbsent && m.g.id(subclass) == NumpyArray
}

// isObjectType reports whether joblib stores an array as another pickle.
func (m *machine) isObjectType(dtype ref) bool {
	state := m.g.state(dtype)
	return state != refAbsent && m.match.fits(rules[NumpyDType].state, state, refAbsent) && m.match.dtypeFits(dtype, state) && m.match.hasObjects(dtype)
}

// objects runs the pickle in the place of an array of objects, which joblib loads
// with an unpickler of its own. To other loaders its instructions go on as they are.
func (m *machine) objects(s arrayState) error {
	m.arrays.seen++
	if m.arrays.as == executed {
		return nil
	}
	if m.frame > m.pos {
		return wire.ErrSyntax.WithRule("pickle.joblib-frame").Errorf("an array of joblib begins inside a frame")
	}
	if m.arrays.depth++; m.arrays.depth > int(m.maxDepth) {
		return &limits.Error{Axis: limits.Depth, Want: int64(m.arrays.depth), Left: int64(m.maxDepth)}
	}
	m.frame = 0 // it ends here, if there was one: behind its end, its place would hide that of the file
	wrapper := m.top()
	other, proto := unpickler{begun: m.pos}, 0
	other.memo.spread = m.memo.spread
	m.exchange(&other, &proto)
	err := m.instructions()
	array := m.g.root
	m.exchange(&other, &proto)
	m.tmp.Drop(other.room()) // that of the inner pickle
	m.g.root, m.done = refNone, false
	m.arrays.depth--
	if err != nil {
		return err
	}
	return m.becomes(wrapper, array)
}

// instructions runs up to STOP.
func (m *machine) instructions() error {
	for !m.done {
		if err := m.step(); err != nil {
			return err
		}
	}
	return nil
}

// becomes stores what joblib puts in the place of a wrapper.
func (m *machine) becomes(wrapper, array ref) error {
	if err := m.freeze(array); err != nil {
		return err
	}
	if err := m.changes(wrapper, []ref{array}); err != nil {
		return err
	}
	return m.setAttr(wrapper, attr{extra: array}, false)
}

// exchange begins or ends the run of a pickle inside another.
func (m *machine) exchange(u *unpickler, proto *int) {
	m.unpickler, *u = *u, m.unpickler
	m.g.proto, *proto = *proto, m.g.proto
	m.limit()
}

// arraySize returns the size of an array in bytes.
func (m *machine) arraySize(s arrayState) (uint64, error) {
	size, ok := m.itemSize(s.dtype)
	if !ok {
		return 0, wire.ErrUnsupported.WithRule("pickle.joblib-array").Errorf("an array of joblib whose type has no known size")
	}
	shape := m.g.node(s.shape)
	for i := range shape.n {
		n, _ := m.g.int64(m.g.elem(shape.a + i))
		if n < 0 {
			return 0, wire.ErrRange.WithRule("pickle.joblib-shape").Errorf("an array with a dimension of %d", n)
		}
		if size, ok = wire.Mul(size, uint64(n)); !ok {
			return 0, wire.ErrOverflow.WithRule("pickle.joblib-overflow").Errorf("an array of more than 2^63-1 bytes")
		}
	}
	return size, nil
}

// itemSize returns the size of an element of an array's dtype, which is never a subarray.
func (m *machine) itemSize(dtype ref) (uint64, bool) {
	size, _, ok := m.match.codeSize(dtype)
	state := m.g.state(dtype)
	if !ok || state == refAbsent {
		return size, ok
	}
	return size, m.match.fits(rules[NumpyDType].state, state, refAbsent) && m.match.dtypeFits(dtype, state) &&
		m.g.elem(m.g.node(state).a+dtypeSubarray) == refNone
}
