package vm

import "github.com/anamnesis-go/anamnesis/internal/wire"

// opReduce calls a global with a tuple of arguments.
func (m *machine) opReduce() error {
	if err := m.have(2); err != nil {
		return err
	}
	args := m.pop()
	callee := m.pop()
	return m.call(callee, args, false)
}

// opNewObj makes an object of a class without calling its __init__.
func (m *machine) opNewObj() error {
	if err := m.have(2); err != nil {
		return err
	}
	args := m.pop()
	class := m.pop()
	return m.call(class, args, true)
}

// opNewObjEx is opNewObj with a dict of named arguments, which no allowed class takes.
func (m *machine) opNewObjEx() error {
	if err := m.have(3); err != nil {
		return err
	}
	named := m.pop()
	args := m.pop()
	class := m.pop()
	if m.g.kind(named) != KindDict {
		return m.misfit(named, "stands for named arguments")
	}
	if m.g.node(named).n == 0 {
		return m.call(class, args, true)
	}
	if m.g.kind(args) != KindTuple {
		return m.misfit(args, "stands for the arguments of a call")
	}
	both, err := m.sequence([]ref{args, named})
	if err != nil {
		return err
	}
	return m.opaque(class, both, "called with named arguments: %s", takes) // torch does not have this opcode
}

// opObj calls the first value above the mark with the others.
func (m *machine) opObj() error {
	items, err := m.popMark()
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return wire.ErrSyntax.WithRule("pickle.stack").Errorf("there is no class above the MARK")
	}
	class := items[0]
	args, err := m.sequence(items[1:])
	if err != nil {
		return err
	}
	return m.call(class, args, false)
}

// opInst names a class by two lines and calls it with the values above the mark.
// CPython's C unpickler looks for the mark first, its Python one imports the class first,
// so a scan reports the class even without a mark.
func (m *machine) opInst() error {
	key, module, name, err := m.twoLines()
	if err != nil {
		return err
	}
	if len(m.marks) == 0 && !m.scan {
		return errNoMark()
	}
	class, err := m.named(key, module, name)
	if c := wire.ClassOf(err); len(m.marks) == 0 && c != wire.Limit && c != wire.Internal {
		return errNoMark()
	}
	if err != nil {
		return err
	}
	items, err := m.popMark()
	if err != nil {
		return err
	}
	args, err := m.sequence(items)
	if err != nil {
		return err
	}
	return m.call(class, args, false)
}

// call handles a call. Nothing runs: the result is data that holds callee and arguments.
// Only an allowed global may be called, with arguments that it takes.
func (m *machine) call(callee, args ref, isNew bool) error {
	if m.g.kind(args) != KindTuple {
		return m.unpacked(callee, args, isNew)
	}
	if m.g.kind(callee) != KindGlobal {
		if m.computed(callee) {
			return m.opaque(callee, args, "the result of a call is called with %s", refuses)
		}
		return m.misfit(callee, "is called")
	}
	id := m.g.id(callee)
	if id == NoID { // the name was refused already
		return m.opaque(callee, args, "called with %s", takes)
	}
	if done, err := m.callMember(id, callee, args, isNew); done || err != nil {
		return err
	}
	taken := m.match.takes(rules[id].signature(isNew), args) && m.match.suits(id, callee, args)
	if err := m.settle(); err != nil {
		return err
	}
	if !taken {
		return m.opaque(callee, args, "called with %s, which it does not take", stanceOnCall(id))
	}
	if id == RebuildWrapperSubclass {
		m.against("call", "no class on its list has a __torch_dispatch__, which a wrapper needs", refAbsent)
	}
	if err := m.event(UseCall, callee, args, true); err != nil {
		return err
	}
	if id == NumpyFromBuffer || id == NumpyScalar {
		if err := m.hasAllBytes(id, args); err != nil {
			return err
		}
	}
	return m.construct(id, callee, args)
}

// stanceOnCall returns what PyTorch's restricted loader does with arguments that we
// refuse: it makes the call, whose result is not known here.
func stanceOnCall(id ID) stance {
	switch id {
	case TorchDType, TorchQScheme, TorchStorage:
		return refuses // torch does not have these as classes
	}
	return unsure
}

// unpacked handles a call whose arguments are not a tuple. The Python unpicklers,
// PyTorch's included, accept anything that can be unpacked.
func (m *machine) unpacked(callee, args ref, isNew bool) error {
	if m.computed(args) {
		return m.opaque(callee, args, "called with arguments that are the %s", unsure)
	}
	if m.g.kind(args) != KindList {
		return m.misfit(args, "stands for the arguments of a call")
	}
	if err := m.strict(errArguments, "a %s stands for the arguments of a call", args); err != nil {
		return err
	}
	n := m.g.node(args)
	m.cost += copySteps * int64(n.n)
	if err := m.settle(); err != nil {
		return err
	}
	if err := m.widen(&m.tmp, int(n.n)+1); err != nil {
		return err
	}
	at := len(m.stack)
	for i := range n.n {
		m.stack = append(m.stack, m.g.elem(n.a+i))
	}
	tuple, err := m.sequence(m.stack[at:])
	m.stack = m.stack[:at]
	if err != nil {
		return err
	}
	return m.call(callee, tuple, isNew)
}

// opaque refuses a call. A scan continues with a value of which only the callee is known.
func (m *machine) opaque(callee, args ref, why string, torch stance) error {
	if err := m.refuse("call", callee, why, args, torch); err != nil {
		return err
	}
	if err := m.event(UseCall, callee, args, false); err != nil {
		return err
	}
	if err := m.object(callee, args); err != nil {
		return err
	}
	m.g.node(m.top()).flags |= flagRefused
	return nil
}

// object pushes an object: callee, arguments, offset, and room for a state.
func (m *machine) object(callee, args ref) error {
	if err := m.freeze(args); err != nil {
		return err
	}
	items := [objSlots]ref{objCallee: callee, objArgs: args, objOff: ref(m.op), objState: refAbsent}
	t := trunk{size: 1}
	m.absorb(&t, items[:objArgs+1])
	depth, err := m.deeper(t.depth)
	if err != nil {
		return err
	}
	at, err := m.store(items[:], objSlots)
	if err != nil {
		return err
	}
	return m.pushNew(node{kind: KindObject, depth: depth, a: at, n: objSlots, size: t.size})
}

// construct pushes the result of a call that makes plain data.
func (m *machine) construct(id ID, callee, args ref) error {
	n := m.g.node(args)
	first, second := refAbsent, refAbsent
	if n.n > 0 {
		first = m.g.elem(n.a)
	}
	if n.n > 1 {
		second = m.g.elem(n.a + 1)
	}
	switch id {
	case OrderedDict, Counter:
		return m.newDict(id, first, refAbsent)
	case DefaultDict:
		return m.newDict(id, second, first)
	case Deque:
		return m.newSequence(KindList, id, first, second)
	case Set, FrozenSet:
		return m.newSequence(KindSet, id, first, refAbsent)
	case ByteArray:
		return m.newByteArray(first)
	case BytesType:
		return m.pushData(KindBytes, 0, 0, 0)
	case EncodeBytes:
		return m.encode(first, second)
	case Reconstructor:
		return m.object(first, refEmpty)
	default:
		return m.object(callee, args)
	}
}

// opBuild sets the state of the value below it.
func (m *machine) opBuild() error {
	if err := m.have(2); err != nil {
		return err
	}
	state := m.pop()
	target := m.top()
	id := m.g.id(target)
	switch kind := m.g.kind(target); {
	case kind == KindGlobal:
		id = NoID // a class itself never gets a state
	case kind == KindObject && (id == LibraryData || id == SetMember):
		return m.buildClass(target, state)
	case kind == KindObject, kind == KindPersistent:
	case id == NoID || kind == KindSet || kind == KindBytes:
		return m.misfit(target, "is given a state")
	}
	ok := m.match.givesState(id, target, state)
	if err := m.settle(); err != nil {
		return err
	}
	if !ok {
		if err := m.refuse("build", target, notTaken, state, m.stanceOnState(target, state)); err != nil {
			return err
		}
	}
	if err := m.event(UseBuild, target, state, ok); err != nil {
		return err
	}
	if err := m.setState(target, state, ok); err != nil {
		return err
	}
	if err := m.freeze(state); err != nil || !ok {
		return err
	}
	return m.built(id, state)
}

// built checks what depends on more than the types of a state.
func (m *machine) built(id ID, state ref) error {
	switch id {
	case JoblibArray:
		return m.array(state)
	case NumpyReconstruct:
		return m.hasAllBytes(id, state)
	}
	return nil
}

// givesState reports whether the value takes the state, which it may get once.
func (m *matcher) givesState(id ID, target, state ref) bool {
	return id != NoID && m.g.state(target) == refAbsent && m.fits(rules[id].state, state, refAbsent) &&
		(id != NumpyDType || m.dtypeFits(target, state)) && (id != NumpyReconstruct || m.isArrayState(state))
}

// stanceOnState returns what PyTorch's restricted loader does with a state that we
// refuse. It updates the __dict__ of an OrderedDict, and of instances of classes on its
// list, with any dict, and calls set_ on a tensor.
func (m *machine) stanceOnState(target, state ref) stance {
	id := m.g.id(target)
	switch m.g.kind(target) {
	case KindGlobal:
		return refuses
	case KindObject:
		if own := m.g.global(target); own != nil && !takenByTorch(own.Module, own.Name) {
			return takes // the name was refused already
		}
		return unsure
	case KindDict:
		if id == DefaultDict {
			return takes // the name was refused already
		}
	}
	if m.g.kind(state) == KindDict {
		return takes
	}
	return unsure
}

// setState stores the state of a value; taken says whether the value accepts it.
func (m *machine) setState(target, state ref, taken bool) error {
	if err := m.changes(target, []ref{state}); err != nil {
		return err
	}
	if n := m.g.node(target); n.kind == KindObject {
		*m.g.elems.at(n.a + objState) = state
		if !taken {
			n.flags |= flagRefused
		}
		return nil
	}
	a, has := m.g.attrs[uint32(target)]
	a.state = state
	return m.setAttr(target, a, has)
}

// attrCost is the size of an entry in the map of attributes.
const attrCost = 64

func (m *machine) setAttr(r ref, a attr, has bool) error {
	if !has {
		if err := m.work.Hold(attrCost); err != nil {
			return err
		}
	}
	if m.g.attrs == nil {
		m.g.attrs = map[uint32]attr{}
	}
	m.g.attrs[uint32(r)] = a
	return nil
}

// change handles APPEND, SETITEM or ADDITEMS on a value that is not a container of ours,
// which in a loader calls a method.
func (m *machine) change(target ref, items []ref, why string) error {
	if err := m.refuse("change", target, why, refAbsent, refuses); err != nil {
		return err
	}
	last := refAbsent
	if len(items) > 0 {
		last = items[len(items)-1]
	}
	return m.event(UseChange, target, last, false)
}
