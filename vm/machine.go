package vm

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A machine runs one pickle: it reads instructions, and makes the values of the graph. Whether a
// global takes its arguments or a state is asked of match.
type machine struct {
	account
	unpickler
	g     *Graph
	match matcher
	work  limits.Workspace // memory that the graph keeps
	tmp   limits.Workspace // memory of the run
	steps limits.Steps

	in    *source
	whole bool         // the pickle fills its source: read it at once
	src   string       // what was read, the same as in.text and g.src
	pos   int          // the next byte
	lim   int          // end of operands: of the frame, or of src
	op    int          // offset of the instruction
	code  uint8        // of the instruction
	codes *[256]opcode // what each byte does
	done  bool         // STOP was executed

	tables map[uint32]*table // of dicts and sets with many keys, by node
	names  [2]map[string]ref // globals by their key in the file: of Python 3's names, and of Python 2's
	key    []byte            // key of the last STACK_GLOBAL, at most 2 maxName + 1
	exts   map[uint32]ref    // globals by their number in the registry
	seed   maphash.Seed

	maxDepth uint16
	late     bool   // a container grew after something referred to it
	doubt    bool   // a loader may not have the error that ends the run
	replayed uint64 // values that a walk visits again because of replays

	opaques bool // name what is not allowed instead of refusing it
	scan    bool
	listing bool // scan: for Disassemble, which records no events
	arrays  struct {
		as     reading
		seen   int
		depth  int    // of pickles in pickles
		padded bool   // one of the arrays is padded
		module string // of the class that was named first
	}
	problem  error // scan: the first violated rule that loaders do not have
	events   arena[event]
	verdicts verdicts
}

// newMachine returns a machine for the pickle at off.
func newMachine(b *limits.Budget, r io.ReaderAt, off, end int64) *machine {
	m := &machine{
		g:        &Graph{b: b, base: off, end: off},
		account:  account{b: b},
		work:     b.Workspace(),
		tmp:      b.Workspace(),
		steps:    b.Steps(),
		in:       &source{r: r, base: off, end: max(off, end)},
		codes:    &opcodes,
		seed:     maphash.MakeSeed(),
		maxDepth: uint16(b.Policy().Limit(limits.Depth)),
	}
	m.read = &m.pos
	m.match = matcher{account: &m.account, g: m.g, tmp: &m.tmp}
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
	if m.pos >= m.lim {
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
		if err := m.widen(&m.tmp, 1); err != nil {
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
	if m.frame <= m.pos {
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
	if err := m.in.text.Err(); err != nil {
		return err
	}
	if m.match.unbuilt > 0 { // its code reads nodes that are not there
		if err := m.refuse("state", m.match.tree, "has no nodes", refAbsent, takes); err != nil {
			return err
		}
		if err := m.event(UseBuild, m.match.tree, refAbsent, false); err != nil {
			return err
		}
	}
	if m.late {
		return m.measure()
	}
	return m.replays(m.g.root)
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

// pushNew makes a value and puts it on the stack.
func (m *machine) pushNew(n node) error {
	r, err := m.add(n)
	if err != nil {
		return err
	}
	return m.push(r)
}
