package vm

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A machine runs one pickle.
type machine struct {
	g     *Graph
	b     *limits.Budget
	work  limits.Workspace // memory that the graph keeps
	tmp   limits.Workspace // memory of the run
	steps limits.Steps

	in    source
	whole bool         // the pickle fills its source: read it at once
	src   string       // what was read, the same as in.text and g.src
	pos   int          // the next byte
	lim   int          // end of operands: of the frame, or of src
	frame int          // the end of the frame, 0 outside one
	op    int          // offset of the instruction
	code  uint8        // of the instruction
	codes *[256]opcode // what each byte does
	done  bool         // STOP was executed

	stack  []ref
	marks  []uint32 // stack heights
	low    int      // the height below which an instruction may not pop
	memo   memo
	tables map[uint32]*table // of dicts and sets with many keys, by node
	names  [2]map[string]ref // globals by their key in the file: of Python 3's names, and of Python 2's
	begun  int               // where the pickle begins, which is not 0 for one inside another
	key    []byte            // key of the last STACK_GLOBAL, at most 2 maxName + 1
	exts   map[uint32]ref    // globals by their number in the registry
	seed   maphash.Seed

	maxDepth uint16
	late     bool           // a container grew after something referred to it
	doubt    bool           // a loader may not have the error that ends the run
	replayed uint64         // values that a walk visits again because of replays
	cost     int64          // steps of calls beyond their instruction
	paid     int64          // the part of cost that is charged
	unpaid   int64          // values made but not charged yet
	broke    error          // a rule of a class had no memory
	unbuilt  int            // trees of scikit-learn that have no nodes yet
	tree     ref            // the last of them that was made
	backs    map[ref]bool   // what arrays have for their memory
	parts    map[ref]string // arrays that are parts of others, and what they are there

	opaques bool // name what is not allowed instead of refusing it
	scan    bool
	listing bool // scan: for Disassemble, which records no events
	arrays  struct {
		as     reading
		seen   int
		depth  int  // of pickles in pickles
		padded bool // one of the arrays is padded
	}
	problem  error // scan: the first violated rule that loaders do not have
	events   arena[event]
	verdicts verdicts
}

// newMachine returns a machine for the pickle at off.
func newMachine(b *limits.Budget, r io.ReaderAt, off, end int64) *machine {
	m := &machine{
		g:        &Graph{b: b, base: off, end: off},
		b:        b,
		work:     b.Workspace(),
		tmp:      b.Workspace(),
		steps:    b.Steps(),
		in:       source{r: r, base: off, end: max(off, end), text: new(strings.Builder)},
		codes:    &opcodes,
		seed:     maphash.MakeSeed(),
		maxDepth: uint16(b.Policy().Limit(limits.Depth)),
	}
	m.memo.spread = maphash.Comparable(m.seed, "memo") | 1
	return m
}

// run executes instructions up to STOP.
func (m *machine) run() error {
	err := m.begin()
	for err == nil && !m.done {
		err = m.step()
	}
	if err == nil {
		err = m.finish()
	}
	return m.placed(err)
}

// begin makes the nodes of every graph.
func (m *machine) begin() error {
	if _, err := m.g.nodes.reserve(&m.work, int(refFirst)); err != nil {
		return err
	}
	for r, kind := range [refFirst]Kind{refTrue: KindBool, refFalse: KindBool, refEmpty: KindTuple} {
		*m.g.node(ref(r)) = node{kind: kind, size: 1}
	}
	m.g.node(refEmpty).depth = 1
	return nil
}

// step executes one instruction.
func (m *machine) step() error {
	if err := m.steps.Step(); err != nil {
		return err
	}
	m.op = m.pos
	if m.pos == m.lim {
		if err := m.next(); err != nil {
			return err
		}
	}
	code := m.src[m.pos]
	m.pos++
	m.code = code
	cur := &m.codes[code]
	if cur.exec == nil {
		return wire.ErrSyntax.WithRule("pickle.opcode-unknown").Errorf("%#02x is not an opcode", code)
	}
	if len(m.stack) == cap(m.stack) {
		if err := m.widen(1); err != nil {
			return err
		}
	}
	if !cur.weightsOnly && m.verdicts.first[code] == 0 {
		m.verdicts.first[code] = uint32(m.op) + 1
	}
	return cur.exec(m)
}

// name returns the name of the instruction.
func (m *machine) name() string { return m.codes[m.code].name }

// next handles the end of a frame, or of what was read.
func (m *machine) next() error {
	if m.frame == m.pos {
		m.frame = 0
		m.limit()
	}
	if m.pos < m.lim {
		return nil
	}
	if m.in.base+int64(m.pos) == m.in.end {
		return wire.ErrTruncated.Errorf("the pickle has no STOP")
	}
	return m.load(int64(m.pos) + 1)
}

// finish charges what is left, and checks what depends on the whole graph.
func (m *machine) finish() error {
	m.g.end = m.g.base + int64(m.pos)
	if err := m.pay(); err != nil {
		return err
	}
	if m.unbuilt > 0 { // its code reads nodes that are not there
		if err := m.refuse("state", m.tree, "has no nodes", refAbsent, takes); err != nil {
			return err
		}
		if err := m.event(UseBuild, m.tree, refAbsent, false); err != nil {
			return err
		}
	}
	if m.late {
		return m.measure()
	}
	return m.replays(m.g.root)
}

// pay charges values and steps of calls that are not charged yet.
func (m *machine) pay() error {
	if err := m.b.Items(m.unpaid); err != nil {
		return err
	}
	m.unpaid = 0
	if m.cost > m.paid {
		if err := m.b.Step(m.cost - m.paid); err != nil {
			return err
		}
		m.paid = m.cost
	}
	return nil
}

// The steps that calls may take beyond their instructions, by bytes of the pickle so far.
// A call examines its arguments, and some copy elements; a pickler writes each element
// for one call, so honest files stay below 2 per byte.
const (
	costPerByte = 8
	freeCost    = 1024
)

// settle charges the steps of calls, and checks that they are in proportion to the size
// of the pickle.
func (m *machine) settle() error {
	if m.broke != nil {
		return m.broke
	}
	if allowed := costPerByte*int64(m.pos) + freeCost; m.cost > allowed {
		return &limits.Error{Axis: limits.StepCount, Want: m.cost, Left: allowed}
	}
	if m.cost < m.paid+payEvery {
		return nil
	}
	return m.pay()
}

// release frees the memory of the run. A graph that is kept stays charged until
// [Graph.Release].
func (m *machine) release(keep bool) {
	if keep {
		m.g.held = m.work.Keep()
	}
	m.work.Close()
	m.tmp.Close()
}

// placed adds the place of the instruction to an error.
func (m *machine) placed(err error) error {
	if err == nil {
		return nil
	}
	off := m.g.base + int64(m.op)
	if f, ok := errors.AsType[*Forbidden](err); ok {
		f.Off = off
	}
	var where string
	if m.op < m.pos {
		where = m.name()
	}
	return wire.At(Format, where, off, err)
}

// strict reports a violation of a rule that some loaders do not have. It ends a load; a
// scan notes the first one. If what is a value, its text replaces %s in text.
func (m *machine) strict(cause *wire.Cause, text string, what ref) error {
	if m.problem != nil { // only the first is kept, so that a flood makes no texts
		return nil
	}
	if what != refAbsent {
		text = fmt.Sprintf(text, m.g.show(what))
	}
	err := cause.Errorf("%s", text)
	if !m.scan {
		return err
	}
	m.problem = m.placed(err)
	return nil
}

// count counts one value, one entry of a dict or set, or one entry of the memo.
func (m *machine) count() error {
	if m.unpaid++; m.unpaid < payEvery {
		return nil
	}
	return m.pay()
}

// add makes a value.
func (m *machine) add(n node) (ref, error) {
	if err := m.count(); err != nil {
		return 0, err
	}
	i := m.g.nodes.len
	if i < m.g.nodes.room {
		m.g.nodes.len++
	} else if _, err := m.g.nodes.extend(&m.work, 1); err != nil {
		return 0, err
	}
	*m.g.nodes.at(i) = n
	return ref(i), nil
}

// payEvery is how many values or steps may be uncharged.
const payEvery = 64

// push pushes a value. No instruction pushes more than one, and step has made room.
func (m *machine) push(r ref) error {
	m.stack = append(m.stack, r)
	return nil
}

// widen makes room for n more values on the stack.
func (m *machine) widen(n int) error {
	grown, err := limits.Grow(&m.tmp, m.stack, max(n, firstStack-len(m.stack)))
	if err == nil {
		m.stack = grown
	}
	return err
}

// firstStack is enough for the stack of most checkpoints.
const firstStack = 512

// pushNew makes a value and puts it on the stack.
func (m *machine) pushNew(n node) error {
	r, err := m.add(n)
	if err != nil {
		return err
	}
	return m.push(r)
}

// unmark drops the mark on top.
func (m *machine) unmark() {
	m.marks = m.marks[:len(m.marks)-1]
	m.low = 0
	if n := len(m.marks); n > 0 {
		m.low = int(m.marks[n-1])
	}
}

// have checks that there are n values on the stack above the mark.
func (m *machine) have(n int) error {
	if len(m.stack)-m.low >= n {
		return nil
	}
	return m.lacks()
}

func (m *machine) lacks() error {
	if len(m.marks) > 0 {
		return wire.ErrSyntax.WithRule("pickle.stack").Errorf("a MARK in place of a value")
	}
	return wire.ErrSyntax.WithRule("pickle.stack").Errorf("the stack is empty")
}

// pop pops a value; the caller has checked have.
func (m *machine) pop() ref {
	r := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return r
}

func (m *machine) top() ref { return m.stack[len(m.stack)-1] }

// popMark pops the top mark and the values above it, which stay valid until the next
// push.
func (m *machine) popMark() ([]ref, error) {
	if len(m.marks) == 0 {
		return nil, errNoMark()
	}
	at := m.low
	m.unmark()
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return items, nil
}

func errNoMark() error { return wire.ErrSyntax.WithRule("pickle.stack").Errorf("no MARK is open") }
