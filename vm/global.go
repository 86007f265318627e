package vm

import (
	"strconv"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// globalCost is the size of a global besides its names: the struct and its entry in the
// map.
const globalCost = 256

// maxName bounds module and name of a global, because a text that the memo replays is
// hashed each time.
const maxName = 512

// maxGlobals bounds the distinct globals of a pickle, because judging one costs more than
// its bytes. Checkpoints have dozens, pickled programs hundreds.
const maxGlobals = 1 << 16

// opGlobal names a global by two lines.
func (m *machine) opGlobal() error {
	key, module, name, err := m.twoLines()
	if err != nil {
		return err
	}
	r, err := m.named(key, module, name)
	if err != nil {
		return err
	}
	return m.push(r)
}

// twoLines reads module and name. The key of the global is the text in the file, newline
// included.
func (m *machine) twoLines() (key, module, name string, err error) {
	a, b, err := m.line()
	if err != nil {
		return "", "", "", err
	}
	c, d, err := m.line()
	if err != nil {
		return "", "", "", err
	}
	return m.src[a:d], m.src[a:b], m.src[c:d], nil
}

// opStackGlobal names a global by two texts.
func (m *machine) opStackGlobal() error {
	if err := m.have(2); err != nil {
		return err
	}
	name := m.pop()
	module := m.pop()
	if m.g.kind(module) != KindText || m.g.kind(name) != KindText {
		return m.notNamed(module, name)
	}
	a, b := m.g.text(module), m.g.text(name)
	if len(a) > maxName || len(b) > maxName {
		return tooLong(a, b)
	}
	m.key = append(append(append(m.key[:0], a...), '\n'), b...)
	r, ok := m.names[m.era()][string(m.key)]
	var err error
	if ok {
		err = m.use(r)
	} else {
		r, err = m.named(string(m.key), a, b)
	}
	if err != nil {
		return err
	}
	return m.push(r)
}

// notNamed handles a STACK_GLOBAL without two texts. Values that calls compute may be
// texts in a loader.
func (m *machine) notNamed(module, name ref) error {
	if !m.maybeText(module) && !m.maybeText(name) {
		return wire.ErrSyntax.WithRule("pickle.global-kind").Errorf("module and name are of kinds %v and %v, not str", m.g.kind(module), m.g.kind(name))
	}
	r, err := m.named("\n", computedModule, computedName)
	if err != nil {
		return err
	}
	return m.push(r)
}

// maybeText reports whether a loader may find a str. An unpickler that runs the pickle of a joblib
// array finds in its memo what it created itself; an object of a known class is not a str.
func (m *machine) maybeText(r ref) bool {
	return m.computed(r) && (m.arrays.as != executed || m.g.id(r) == NoID)
}

// The names of a global whose name is computed by calls.
const (
	computedModule = "?"
	computedName   = "computed"
)

// computed reports whether a value is only known when the pickle runs.
func (m *machine) computed(r ref) bool {
	return m.g.kind(r) == KindObject || m.g.kind(r) == KindPersistent
}

func (m *machine) opExt1() error {
	code, err := m.u8()
	if err != nil {
		return err
	}
	return m.extension(uint32(code))
}

func (m *machine) opExt2() error {
	code, err := m.u16()
	if err != nil {
		return err
	}
	return m.extension(uint32(code))
}

func (m *machine) opExt4() error {
	code, err := m.u32()
	if err != nil {
		return err
	}
	return m.extension(code)
}

// extension names a global by a number of the loader's registry.
func (m *machine) extension(code uint32) error {
	if code == 0 || code > 1<<31-1 {
		return wire.ErrRange.WithRule("pickle.extension").Errorf("extension code %d", int32(code))
	}
	r, ok := m.exts[code]
	if !ok {
		var err error
		name := extensionName + strconv.FormatUint(uint64(code), 10)
		if r, err = m.newGlobal("\n"+name, "copyreg", name); err != nil {
			return err
		}
		if m.exts == nil {
			m.exts = map[uint32]ref{}
		}
		m.exts[code] = r
	}
	if err := m.use(r); err != nil {
		return err
	}
	return m.push(r)
}

const extensionName = "extension "

func tooLong(module, name string) error {
	return wire.ErrUnsupported.WithRule("pickle.global-long").Errorf("a global with names of %d and %d bytes, more than %d", len(module), len(name), maxName)
}

// named returns the global with a key, or makes and judges it.
func (m *machine) named(key, module, name string) (ref, error) {
	r, ok := m.names[m.era()][key]
	if !ok {
		err := m.b.Step(globalSteps)
		if err != nil {
			return 0, err
		}
		if r, err = m.newGlobal(key, module, name); err != nil {
			return 0, err
		}
	}
	return r, m.use(r)
}

// use is called each time that a global is named.
func (m *machine) use(r ref) error {
	g := m.g.globals[m.g.node(r).a]
	g.Uses++
	if err := m.event(UseGlobal, r, refAbsent, g.Status == Allowed); err != nil {
		return err
	}
	if g.Status != Allowed {
		if err := m.b.Step(2 * globalSteps); err != nil {
			return err
		}
		return m.refuse("global", r, g.Reason, refAbsent, takes) // torch's list is checked separately
	}
	return nil
}

// globalSteps are those of judging a global that was not named before, and of refusing one.
const globalSteps = 8

func (m *machine) newGlobal(key, module, name string) (ref, error) {
	if len(module) > maxName || len(name) > maxName {
		return 0, tooLong(module, name)
	}
	if len(m.g.globals) == maxGlobals {
		return 0, &limits.Error{Axis: limits.Items, Want: 1, Left: 0}
	}
	if !utf8.ValidString(module) || !utf8.ValidString(name) {
		return 0, wire.ErrText.WithRule("pickle.global-text").Errorf("the name of a global is not UTF-8")
	}
	if err := m.work.Hold(globalCost + 2*int64(len(key))); err != nil {
		return 0, err
	}
	g := &Global{Module: module, Name: name, Off: m.g.base + int64(m.op)}
	if m.g.proto < 3 {
		g.Module, g.Name = python3(module, name)
	}
	g.writtenAs(module, name)
	g.judge()
	m.match.date(g)
	m.judgeJoblib(g)
	if !takenByTorch(module, name) {
		m.against("global", wire.Quote(g.String())+" is not on its list", refAbsent)
	}
	globals, err := limits.Grow(&m.work, m.g.globals, 1)
	if err != nil {
		return 0, err
	}
	m.g.globals = append(globals, g)
	r, err := m.add(node{kind: KindGlobal, a: uint32(len(globals)), size: 1})
	if err != nil {
		return 0, err
	}
	if m.names[m.era()] == nil {
		m.names[m.era()] = map[string]ref{}
	}
	m.names[m.era()][key] = r
	return r, nil
}

// era returns 1 if the names are those of Python 2, 0 if they are those of Python 3.
func (m *machine) era() int { return toInt(m.g.proto < 3) }

// writtenAs notes the names of the file if they are others.
func (g *Global) writtenAs(module, name string) {
	if g.Module != module || g.Name != name {
		g.Written = module + " " + name
	}
}

// judge sets the status of a global.
func (g *Global) judge() {
	if g.ID, _ = lookup(g.Module, g.Name); g.ID != NoID {
		return
	}
	if g.class = dataClassOf(g.Module, g.Name); g.class != nil {
		g.ID = LibraryData
		return
	}
	if g.Reason = danger(g.Module, g.Name); g.Reason != "" {
		g.Status = Dangerous
		return
	}
	g.class = grantedClassOf(g.Module, g.Name)
	g.Status, g.Reason = Unknown, "not on the allowlist"
	if g.class != nil {
		g.ID, g.Reason = SetMember, "a class of the set "+g.class.set.Name+", which is not allowed"
	}
}

// StatusOf returns the status of a global by its Python 3 name, and the reason.
func StatusOf(module, name string) (status Status, reason string) {
	g := Global{Module: module, Name: name}
	g.judge()
	return g.Status, g.Reason
}
