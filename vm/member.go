package vm

// The machine's use of the classes of sets: those that a policy may allow, and the data of
// libraries, which needs no permission. A use that the set does not describe is refused
// like any other. One that it describes is refused as well where the set needs permission,
// but keeps its type, and its event says so ([Event.Fits]).

// permitted reports whether a use of a class needs no permission. If it does, the use is
// refused.
func (m *machine) permitted(code string, what ref, why string, with ref) (ok bool, err error) {
	if m.g.id(what) == LibraryData {
		return true, nil
	}
	return false, m.refuse(code, what, why, with, takes) // the name was refused already
}

// callMember makes the calls of classes of sets, and those of copyreg._reconstructor with
// a class that is not the machine's own.
func (m *machine) callMember(id ID, callee, args ref, isNew bool) (done bool, err error) {
	switch id {
	case LibraryData, SetMember:
		return true, m.callClass(callee, args, isNew)
	case Reconstructor:
		return m.reconstruct(args)
	}
	return false, nil
}

// callClass calls a class of a set.
func (m *machine) callClass(callee, args ref, isNew bool) error {
	taken := m.match.takesCall(m.g.global(callee).class, args, isNew)
	if err := m.settle(); err != nil {
		return err
	}
	if !taken {
		return m.opaque(callee, args, "called with %s, which it does not take", takes)
	}
	ok, err := m.permitted("call", callee, "called with %s", args)
	if err != nil {
		return err
	}
	if err := m.typed(UseCall, callee, args, ok); err != nil {
		return err
	}
	if err := m.object(callee, args); err != nil {
		return err
	}
	if m.g.global(callee).class.names[0] == treeClass {
		m.match.tree = m.top()
		m.match.unbuilt++
	}
	return nil
}

// reconstruct calls copyreg._reconstructor with a class of a set, or with an unknown one: (class,
// object, None), or (class, dict, items) for one that is a dict.
func (m *machine) reconstruct(args ref) (made bool, err error) {
	n := m.g.node(args)
	if n.n != 3 || m.g.kind(m.g.elem(n.a)) != KindGlobal {
		return false, nil
	}
	class, base, items := m.g.elem(n.a), m.g.elem(n.a+1), m.g.elem(n.a+2)
	own := m.g.global(class)
	if own.Status == Allowed && own.ID != LibraryData {
		return false, nil
	}
	fits := m.match.isReconstructed(own.class, base, items)
	if err := m.settle(); err != nil {
		return true, err
	}
	if !fits {
		return true, m.opaque(class, args, "made with %s, which it does not take", takes)
	}
	ok, err := m.permitted("call", class, "made with %s", args)
	if err != nil {
		return true, err
	}
	if err := m.typed(UseCall, class, args, ok); err != nil {
		return true, err
	}
	if err := m.object(class, refEmpty); err != nil || items == refNone {
		return true, err
	}
	return true, m.keeps(m.top(), items)
}

// isReconstructed reports whether a class is made of object and nothing, or of dict and
// items.
func (m *matcher) isReconstructed(c *class, base, items ref) bool {
	if c == nil || m.g.kind(base) != KindGlobal || m.g.id(base) != PlainType {
		return false
	}
	name := m.g.global(base).Name
	return m.narrow(c, m.possible(c.set), func(f *form) bool {
		if f.new == nil || !m.matches(f.new, refEmpty, c) {
			return false
		}
		if name == "object" {
			return items == refNone
		}
		return name == "dict" && f.dict != nil && m.g.kind(items) == KindDict && m.matches(f.dict, items, c)
	}, func(check) bool { return true })
}

// keeps stores the items with which a dict was made.
func (m *machine) keeps(object, items ref) error {
	if err := m.freeze(items); err != nil {
		return err
	}
	if err := m.changes(object, []ref{items}); err != nil {
		return err
	}
	return m.setAttr(object, attr{extra: items}, false)
}

// buildClass gives a state to an instance of a class of a set.
func (m *machine) buildClass(target, state ref) error {
	taken := m.match.takesState(m.g.global(target).class, target, state)
	if err := m.settle(); err != nil {
		return err
	}
	ok := false
	var err error
	if taken {
		ok, err = m.permitted("build", target, "BUILD gives it %s", state)
	} else {
		why, with := m.objection(m.g.global(target).class, state)
		err = m.refuse("build", target, why, with, takes)
	}
	if err != nil {
		return err
	}
	if taken {
		err = m.typed(UseBuild, target, state, ok)
	} else {
		err = m.event(UseBuild, target, state, false)
	}
	if err != nil {
		return err
	}
	if err := m.setState(target, state, taken); err != nil {
		return err
	}
	return m.freeze(state)
}

// changeClass gives items to an instance of a class that is a dict or a list. It reports
// whether the set describes that.
func (m *machine) changeClass(target ref, items []ref, isDict bool) (done bool, err error) {
	if id := m.g.id(target); id != LibraryData && id != SetMember {
		return false, nil
	}
	c := m.g.global(target).class
	// A pickler writes the items before the state, and rules about both are asked then.
	if len(items) == 0 || m.g.state(target) != refAbsent || !m.match.takesItems(c, items, isDict) {
		return false, m.settle()
	}
	if err := m.settle(); err != nil {
		return true, err
	}
	ok, err := m.permitted("change", target, "items are added to it", refAbsent)
	if err != nil {
		return true, err
	}
	if err := m.typed(UseChange, target, items[len(items)-1], ok); err != nil {
		return true, err
	}
	held, err := m.itemsOfObject(target, isDict)
	if err != nil {
		return true, err
	}
	if err := m.changes(target, items); err != nil {
		return true, err
	}
	if isDict {
		return true, m.setItems(held, items)
	}
	return true, m.extend(held, items)
}

func (m *matcher) takesItems(c *class, items []ref, isDict bool) bool {
	return m.narrow(c, m.possible(c.set), func(f *form) bool {
		p := f.list
		if isDict {
			p = f.dict
		}
		return p != nil && m.areItems(p, c, items, isDict)
	}, func(check) bool { return true })
}

func (m *matcher) areItems(p *pattern, c *class, items []ref, isDict bool) bool {
	for i, r := range items {
		one := p
		if isDict {
			if p.op != dictOf {
				return false
			}
			one = p.parts[i%2]
		}
		if !m.matches(one, r, c) {
			return false
		}
	}
	return true
}

// itemsOfObject returns the container of an object's items, and makes it at first.
func (m *machine) itemsOfObject(target ref, isDict bool) (ref, error) {
	if a, has := m.g.attrs[uint32(target)]; has {
		return a.extra, nil
	}
	kind := KindList
	if isDict {
		kind = KindDict
	}
	held, err := m.add(node{kind: kind, flags: flagNoHash | flagStored, depth: 1, size: 1})
	if err != nil {
		return 0, err
	}
	m.g.node(target).flags |= flagNoHash
	return held, m.setAttr(target, attr{extra: held}, false)
}
