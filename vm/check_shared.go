package vm

// A value that a pickle uses twice is the same memory in the library: code that changes the numbers
// of a matrix that are also its indices changes indices that were checked.

// sharedCost is the size of an entry in a map of values.
const sharedCost = 64

// fewBytes is the length up to which NumPy copies bytes. Longer ones are the memory of the
// array that gets them.
const fewBytes = 1000

// alone is the role of parts that no other value has.
const alone = "alone"

// areAlone is isPart for arrays that have no other role.
func (m *matcher) areAlone(arrays ...ref) bool {
	for _, r := range arrays {
		if !m.isPart(r, alone) {
			return false
		}
	}
	return true
}

// isOwnMemory reports whether no other array has data for its memory.
func (m *matcher) isOwnMemory(data ref) bool {
	if m.g.kind(data) != KindBytes {
		return true // NumPy makes its own from a text or a list
	}
	if n := m.g.node(data); n.flags&classFlags[ByteArray] == 0 && n.n <= fewBytes {
		return true
	}
	if m.backs[data] {
		return false
	}
	if err := m.tmp.Hold(sharedCost); err != nil {
		m.broke = err
		return false
	}
	if m.backs == nil {
		m.backs = map[ref]bool{}
	}
	m.backs[data] = true
	return true
}

// isPart notes that an array is a part of another value, and reports whether it is a part
// of nothing else. Values that are only read may be shared.
func (m *matcher) isPart(array ref, role string) bool {
	if array == refAbsent || !m.isArray(array) {
		return true
	}
	if m.cost++; m.parts[array] != "" {
		return role != alone && m.parts[array] == role
	}
	if err := m.tmp.Hold(sharedCost); err != nil {
		m.broke = err
		return false
	}
	if m.parts == nil {
		m.parts = map[ref]string{}
	}
	m.parts[array] = role
	return true
}
