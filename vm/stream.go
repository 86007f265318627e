package vm

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const maxProtocol = 5

// opProto states the protocol. It must be the first instruction, and there may be only
// one.
func (m *machine) opProto() error {
	p, err := m.u8()
	if err != nil {
		return err
	}
	if p > maxProtocol {
		if err := m.strict(errProtocol, "a protocol above 5", refAbsent); err != nil {
			return err
		}
	}
	if m.op != m.begun {
		if err := m.strict(errProtocolLate, "PROTO is not the first instruction", refAbsent); err != nil {
			return err
		}
	}
	m.g.proto = int(p)
	return nil
}

// opFrame begins a frame: the next n bytes are whole instructions (PEP 3154). CPython's C
// unpickler before 3.13.15 and 3.14.7 ignores frames that are crossed, others stop, so a
// crossed frame and a frame inside a frame are refused.
func (m *machine) opFrame() error {
	n, err := m.u64()
	if err != nil {
		return err
	}
	if m.pos < m.frame {
		if err := m.strict(errFrame, "a frame begins inside another", refAbsent); err != nil {
			return err
		}
	}
	if left := uint64(m.in.end - m.in.base - int64(m.pos)); n > left {
		return wire.ErrTruncated.Errorf("a frame of %d bytes, %d left", n, left)
	}
	m.frame = m.pos + int(n)
	m.limit()
	return nil
}

// opStop ends the pickle: one value on the stack, no open mark, and the end of the frame.
func (m *machine) opStop() error {
	if err := m.have(1); err != nil {
		return err
	}
	m.g.root = m.pop()
	m.done = true
	if len(m.stack) > 0 || len(m.marks) > 0 {
		left := fmt.Sprintf("%d values and %d marks are left on the stack", len(m.stack), len(m.marks))
		if err := m.strict(errStop, left, refAbsent); err != nil {
			return err
		}
	}
	if m.frame > m.pos {
		return m.strict(errFrame, "the pickle ends inside a frame", refAbsent)
	}
	return nil
}

// opPop pops the top value, or the mark if nothing is above it.
func (m *machine) opPop() error {
	if len(m.marks) > 0 && len(m.stack) == m.low {
		m.unmark()
		return nil
	}
	if err := m.have(1); err != nil {
		return err
	}
	m.pop()
	return nil
}

func (m *machine) opPopMark() error {
	_, err := m.popMark()
	return err
}

func (m *machine) opDup() error {
	if err := m.have(1); err != nil {
		return err
	}
	return m.replay(m.top())
}

// opBuffer asks for a buffer outside the pickle, which a file does not have.
func (m *machine) opBuffer() error {
	return wire.ErrUnsupported.WithRule("pickle.buffers").Errorf("%s: the pickle needs out-of-band buffers", m.name())
}

// opPersID passes a line to the loader. Writers of model files use BINPERSID.
func (m *machine) opPersID() error {
	off, end, err := m.line()
	if err != nil {
		return err
	}
	r, err := m.add(node{kind: KindText, a: uint32(off), n: uint32(end - off), size: textSize(end - off)})
	if err != nil {
		return err
	}
	return m.persistent(r)
}

func (m *machine) opBinPersID() error {
	if err := m.have(1); err != nil {
		return err
	}
	return m.persistent(m.pop())
}

// persistent pushes an object outside the pickle that is known by an id. The id must be
// that of a PyTorch storage.
func (m *machine) persistent(id ref) error {
	if class, ok := m.container(id); ok {
		return m.push(class)
	}
	cause, text := m.match.storage(id)
	if err := m.event(UsePersistent, id, id, cause == nil); err != nil {
		return err
	}
	if cause != nil {
		if !m.match.hasDType(id) {
			m.against("persistent", "the persistent id %s", id)
		}
		if err := m.strict(cause, text, id); err != nil {
			return err
		}
	}
	t := trunk{size: 1}
	m.absorb(&t, []ref{id})
	depth, err := m.deeper(t.depth)
	if err != nil {
		return err
	}
	r, err := m.add(node{kind: KindPersistent, depth: depth, a: uint32(id), n: uint32(m.op), size: t.size})
	if err != nil {
		return err
	}
	if m.g.ids, err = limits.Grow(&m.work, m.g.ids, 1); err != nil {
		return err
	}
	m.g.ids = append(m.g.ids, r)
	return m.push(r)
}

// container returns the class of an id that stands for a module's class with its source,
// as PyTorch before 1.6 wrote it: ("module", class, file, source).
func (m *machine) container(id ref) (class ref, ok bool) {
	if !m.opaques || m.g.kind(id) != KindTuple {
		return 0, false
	}
	n := m.g.node(id)
	if n.n != 4 || m.g.kind(m.g.elem(n.a)) != KindText || m.g.text(m.g.elem(n.a)) != "module" {
		return 0, false
	}
	class = m.g.elem(n.a + 1)
	return class, m.g.kind(class) == KindGlobal
}

// hasDType reports whether PyTorch takes an id for a storage's. It only requires a dtype
// of the class, and the tensor classes have one too.
func (m *matcher) hasDType(id ref) bool {
	if m.g.kind(id) != KindTuple {
		return false
	}
	n := m.g.node(id)
	if n.n != 5 || m.g.kind(m.g.elem(n.a)) != KindText || m.g.text(m.g.elem(n.a)) != "storage" || !m.takesOne("tCtti", n) {
		return false
	}
	count, _ := m.g.int64(m.g.elem(n.a + 4))
	class := m.g.global(m.g.elem(n.a + 1))
	return count >= 0 && class.ID == TorchTensor && class.Name != "Tensor"
}

// storage checks that an id is ("storage", class, key, location, count), in files of
// PyTorch 1.5 and before with a sixth part: None or the key, offset and count of a view.
func (m *matcher) storage(id ref) (wrong *wire.Cause, text string) {
	if m.g.kind(id) != KindTuple {
		return errPersistent, "the persistent id %s"
	}
	n := m.g.node(id)
	if n.n == 0 || m.g.kind(m.g.elem(n.a)) != KindText || m.g.text(m.g.elem(n.a)) != "storage" {
		return errPersistent, "the persistent id %s"
	}
	ok := m.takesOne("tOtti", n) || m.takesOne("tOttin", n)
	if !ok && n.n == 6 && m.takesOne("tOttiv", n) {
		view := m.g.elem(n.a + 5)
		ok = m.g.kind(view) == KindTuple && m.takesOne("tii", m.g.node(view))
	}
	if !ok {
		return errStorageID, "the persistent id %s is not that of a storage"
	}
	if count, _ := m.g.int64(m.g.elem(n.a + 4)); count < 0 {
		return errStorageCount, "a storage of less than no elements: %s"
	}
	return nil, ""
}
