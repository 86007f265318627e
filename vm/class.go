package vm

import (
	"embed"
	"iter"
	"slices"
	"strings"
	"sync"
)

// A class is what a set says about one class or function of a library. All else is refused.
type class struct {
	names  []string        // "module.name", the first one is what newer versions write
	forms  []form          // what it takes, by versions of the library; no version is in two
	dated  string          // the attribute that states the version, or ""
	owns   map[string]bool // names that attributes may not have
	family bool            // its instances are equal to each other at most
	equal  []string        // the attributes by which its instances are equal, or nil
	set    *ClassSet
}

// A form says how the instances of a class are made in some versions of its library, and which
// states they take.
type form struct {
	versions  uint64   // bits of [ClassSet.versions]; all bits if the set tells none apart
	call, new *pattern // of the tuple of arguments; nil: never called
	state     *pattern // nil: none
	dict      *pattern // the items that an instance which is a dict takes
	list      *pattern // the elements of one that is a list
	checks    []string // names of [checks]
}

// versions are those in which a set has the class.
func (c *class) versions() (bits uint64) {
	for i := range c.forms {
		bits |= c.forms[i].versions
	}
	return bits
}

// A ClassSet is a named list of classes of one library that pickles may use as data.
type ClassSet struct {
	Name, About string
	// Libraries are the libraries and their versions for which the set was made and tried.
	Libraries []Library
	versions  []string // of the first library, oldest first, if the set tells them apart
	classes   []*class
	byName    map[string]*class
}

// maxVersions is the number of versions that a set may tell apart: one bit each.
const maxVersions = 64

// A Library is one that a set is about.
type Library struct {
	Name           string
	Oldest, Newest string // the versions that the set was made from
}

// Names lists the classes of the set by the names that newer versions write.
func (s *ClassSet) Names() (list []string) {
	for _, c := range s.classes {
		list = append(list, c.names[0])
	}
	slices.Sort(list)
	return list
}

// Versions are those of the first library that the set was made from, oldest first.
func (s *ClassSet) Versions() []string {
	if len(s.versions) == 0 {
		return []string{s.Libraries[0].Newest}
	}
	return slices.Clone(s.versions)
}

// SetVersions are the versions of a library that could have written the pickle of the value, if it is a
// class of a set or an instance of one. A file that is of no version is refused.
func (v Value) SetVersions() (list []string) {
	g := v.g.global(v.r)
	if g == nil || g.class == nil {
		return nil
	}
	return v.g.versionsOf(g.class.set)
}

// versionsOf are those in which the library of a set could have written the pickle.
func (g *Graph) versionsOf(s *ClassSet) (list []string) {
	bits, known := g.written[s]
	for i, version := range s.Versions() {
		if !known || bits&(1<<i) != 0 {
			list = append(list, version)
		}
	}
	return list
}

// Module is the module of the library whose version a set is about: "sklearn".
func (s *ClassSet) Module() string { return rootOf(s.classes[0].names[0]) }

// SetUses yields the sets that a pickle needs a permission for, in the order in which it names them, each
// with the versions of its library that could have written all of the pickle.
func (g *Graph) SetUses() iter.Seq2[*ClassSet, []string] {
	return func(yield func(*ClassSet, []string) bool) {
		seen := map[*ClassSet]bool{}
		for _, one := range g.globals {
			if one.Set() == "" || seen[one.class.set] {
				continue
			}
			s := one.class.set
			if seen[s] = true; !yield(s, g.versionsOf(s)) {
				return
			}
		}
	}
}

//go:embed sets
var setFiles embed.FS

// A setFile is a set that comes with this package. It takes longer to read than most pickles, so
// it is read when a name asks for it.
type setFile struct {
	roots map[string]bool // first words of the names of its classes
	read  func() *ClassSet
}

// newSetFile returns a set of that name, whose classes may name those of data.
func newSetFile(name string, data func() *ClassSet) *setFile {
	text, err := setFiles.ReadFile("sets/" + name + ".set")
	if err != nil {
		panic("internal error: " + err.Error())
	}
	f := &setFile{map[string]bool{}, sync.OnceValue(func() *ClassSet {
		s, err := parseSet(string(text), data())
		if err != nil {
			panic("internal error: " + err.Error())
		}
		return s
	})}
	lines := strings.Split(string(text), "\n")
	for _, line := range lines {
		if names, ok := strings.CutPrefix(line, "class "); ok {
			for name := range strings.FieldsSeq(names) {
				f.roots[rootOf(name)] = true
			}
		}
	}
	return f
}

// rootOf returns the first word of a dotted name.
func rootOf(name string) string {
	if i := strings.IndexAny(name, ".:"); i >= 0 {
		return name[:i]
	}
	return name
}

var (
	// libraryData are the classes of Python and NumPy that hold data.
	libraryData = sync.OnceValue(func() *setFile { return newSetFile("data", func() *ClassSet { return nil }) })
	// dataFiles are the sets that need no permission.
	dataFiles = sync.OnceValue(func() []*setFile {
		return []*setFile{libraryData(), newSetFile("tables", libraryData().read), newSetFile("dcp", libraryData().read), newSetFile("deepspeed", libraryData().read)}
	})
	// grantedFiles are the others, by name.
	grantedFiles = sync.OnceValue(func() (list []*setFile) {
		for _, name := range [...]string{"gensim", "imblearn", "lightgbm", "lightning", "networkx", "optuna", "scipy", "sklearn", "xgboost"} {
			list = append(list, newSetFile(name, libraryData().read))
		}
		return list
	})
)

// dataClassOf returns what the data of libraries says about a global.
func dataClassOf(module, name string) *class { return classIn(dataFiles(), module, name) }

// grantedClassOf returns what a set that a policy may allow says about a global.
func grantedClassOf(module, name string) *class { return classIn(grantedFiles(), module, name) }

func classIn(files []*setFile, module, name string) *class {
	full := module + "." + name
	root := rootOf(full)
	for _, f := range files {
		if !f.roots[root] {
			continue
		}
		if c := f.read().byName[full]; c != nil {
			return c
		}
	}
	return nil
}

// takesCall reports whether a class is called with these arguments.
func (m *matcher) takesCall(c *class, args ref, isNew bool) bool {
	return m.narrow(c, m.possible(c.set), func(f *form) bool {
		p := f.call
		if isNew {
			p = f.new
		}
		return p != nil && m.matches(p, args, c)
	}, func(rule check) bool { return rule(m, c, refAbsent, args) })
}

// takesState reports whether an instance takes a state. It gets one once.
func (m *matcher) takesState(c *class, target, state ref) bool {
	return m.g.state(target) == refAbsent && m.narrow(c, m.possible(c.set)&m.dated(c, state), func(f *form) bool {
		return f.state != nil && m.matches(f.state, state, c)
	}, func(rule check) bool { return rule(m, c, target, state) })
}

// dated is the version that a state says it is of, or all. No other form need be compared.
func (m *matcher) dated(c *class, state ref) uint64 {
	if c.dated == "" || m.g.kind(state) != KindDict {
		return ^uint64(0)
	}
	text := m.textAt(state, c.dated)
	if m.cost += int64(len(c.set.versions) / 8); text == "" {
		return ^uint64(0)
	}
	if i := slices.Index(c.set.versions, text); i >= 0 {
		return 1 << i
	}
	return 0
}

// possible are the versions of a library that could have written all that the pickle holds so far.
func (m *matcher) possible(s *ClassSet) uint64 {
	if bits, ok := m.g.written[s]; ok {
		return bits
	}
	return ^uint64(0)
}

// narrow reports whether a use of a class is one that a possible version takes, and the rules of all
// such versions pass. Other versions are not possible from then on, so that no two parts
// of a pickle are judged by different versions.
func (m *matcher) narrow(c *class, possible uint64, takes func(*form) bool, passes func(check) bool) bool {
	left := uint64(0)
	var asked []string
	for i := range c.forms {
		f := &c.forms[i]
		if m.stated = f.versions & possible; m.stated == 0 || !takes(f) {
			continue
		}
		left |= m.stated
		if len(c.forms) == 1 {
			asked = f.checks
			break
		}
		for _, name := range f.checks {
			if !slices.Contains(asked, name) {
				asked = append(asked, name)
			}
		}
	}
	m.stated = left // a rule may read a version as well
	for _, name := range asked {
		if left != 0 && !passes(checks[name]) {
			return false
		}
	}
	return m.keepVersions(c.set, m.stated)
}

// date refuses a class of a set that no possible version of the library has.
func (m *matcher) date(g *Global) {
	if c := g.class; c != nil && !m.keepVersions(c.set, m.possible(c.set)&c.versions()) {
		g.class, g.ID, g.Reason = nil, NoID, "not a class of the version of "+c.set.Libraries[0].Name+" that wrote other parts"
	}
}

// keepVersions notes which versions are possible now, and reports whether any is.
func (m *matcher) keepVersions(s *ClassSet, left uint64) bool {
	if left != 0 && len(s.versions) > 0 {
		if m.g.written == nil {
			m.g.written = map[*ClassSet]uint64{}
		}
		m.g.written[s] = left
	}
	return left != 0
}

// ClassSets lists the sets that a policy may allow, by name.
func ClassSets() []*ClassSet {
	var list []*ClassSet
	files := grantedFiles()
	for _, f := range files {
		list = append(list, f.read())
	}
	return list
}
