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
	work  limits.Workspace // what the graph holds
	tmp   limits.Workspace // what only the run holds
	steps limits.Steps

	in    source
	whole bool         // the pickle fills its source: read all at once
	src   string       // what was read, as in.text and g.src
	pos   int          // the next byte
	lim   int          // the end of what an operand may use: of the frame, or of src
	frame int          // the end of the frame, 0 outside of one
	op    int          // where the instruction begins
	code  uint8        // of the instruction
	codes *[256]opcode // what each byte does
	done  bool         // STOP was met

	stack  []ref
	marks  []uint32 // stack heights
	low    int      // the height that an instruction may not go below
	memo   memo
	tables map[uint32]*table // of dicts and sets of many keys, by node
	names  map[string]ref    // of globals, by what the file calls them
	key    []byte            // of the last one that two texts named, at most 2 maxName + 1
	exts   map[uint32]ref    // of globals, by their number in a registry
	seed   maphash.Seed

	maxDepth uint16
	late     bool   // a container grew after something had referred to it
	doubt    bool   // the error that ends the run may be ours alone
	replayed uint64 // values that a walk meets once more because of replays
	cost     int64  // steps that calls cost beyond their instruction
	paid     int64  // of them, charged
	unpaid   int64  // values made, not charged yet

	opaques bool // what is not allowed is named, and not refused
	scan    bool
	listing bool // scan: for Disassemble, which records no events
	arrays  struct {
		as     reading
		seen   int
		padded bool // one of them is
	}
	problem  error // scan: the first rule broken that loaders do not ask for
	events   arena[event]
	verdicts verdicts
}

// newMachine makes a machine for the pickle at off.
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

// begin makes the values that every graph has.
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
		return wire.ErrSyntax.By("pickle.opcode-unknown").With("%#02x is not an opcode", code)
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

// name is what the instruction is called.
func (m *machine) name() string { return m.codes[m.code].name }

// next is where a frame or what was read has ended.
func (m *machine) next() error {
	if m.frame == m.pos {
		m.frame = 0
		m.limit()
	}
	if m.pos < m.lim {
		return nil
	}
	if m.in.base+int64(m.pos) == m.in.end {
		return wire.ErrTruncated.With("the pickle has no STOP")
	}
	return m.load(int64(m.pos) + 1)
}

// finish settles what is still to be charged and what only the whole graph
// can tell.
func (m *machine) finish() error {
	m.g.end = m.g.base + int64(m.pos)
	if err := m.pay(); err != nil {
		return err
	}
	if m.late {
		return m.measure()
	}
	return m.replays(m.g.root)
}

// pay charges the values and the steps of calls that are not charged yet.
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

// What calls may cost beyond their instructions, by the bytes of the pickle so
// far. A call looks at its arguments, and some copy their elements; a pickler
// writes each element for one call, so that honest files stay below 2 a byte.
const (
	costPerByte = 8
	freeCost    = 1024
)

// settle charges the steps of calls, and checks that they are in proportion to the size
// of the pickle.
func (m *machine) settle() error {
	if allowed := costPerByte*int64(m.pos) + freeCost; m.cost > allowed {
		return &limits.Error{Axis: limits.StepCount, Want: m.cost, Left: allowed}
	}
	if m.cost < m.paid+payEvery {
		return nil
	}
	return m.pay()
}

// release ends the run: the working set is given back. A graph that is kept
// stays charged to the account until [Graph.Release].
func (m *machine) release(keep bool) {
	if keep {
		m.g.held = m.work.Keep()
	}
	m.work.Close()
	m.tmp.Close()
}

// placed gives an error the place of the instruction.
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

// strict reports a rule that not every loader asks for: the end of a load, a
// remark in a scan. Where what is a value, it takes the place of %s in text.
func (m *machine) strict(cause *wire.Cause, text string, what ref) error {
	if m.problem != nil { // only the first one is kept, and a flood makes no texts
		return nil
	}
	if what != refAbsent {
		text = fmt.Sprintf(text, m.g.show(what))
	}
	err := cause.With("%s", text)
	if !m.scan {
		return err
	}
	m.problem = m.placed(err)
	return nil
}

// count counts one value, one entry of a dict or set, or one of the memo.
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

// payEvery is how many values or steps may stay uncharged.
const payEvery = 64

// push puts a value on the stack. No instruction leaves more than one, and step
// has made room for that.
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

// firstStack is room for the stack of most checkpoints.
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

// have asks for n values on the stack above the mark.
func (m *machine) have(n int) error {
	if len(m.stack)-m.low >= n {
		return nil
	}
	return m.lacks()
}

func (m *machine) lacks() error {
	if len(m.marks) > 0 {
		return wire.ErrSyntax.By("pickle.stack").With("a MARK in place of a value")
	}
	return wire.ErrSyntax.By("pickle.stack").With("the stack is empty")
}

// pop takes the value on top; have was asked.
func (m *machine) pop() ref {
	r := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return r
}

func (m *machine) top() ref { return m.stack[len(m.stack)-1] }

// popMark takes the mark on top and the values above it. They stay valid until
// the next push.
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

func errNoMark() error { return wire.ErrSyntax.By("pickle.stack").With("no MARK is open") }
