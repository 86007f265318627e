package vm

import (
	"embed"
	"slices"
	"strings"
	"sync"
)

// A class is what a set says about one class or function of a library: how its instances
// are made, and which states they take. All else is refused.
type class struct {
	names     []string // "module.name", the first one is what newer versions write
	call, new *pattern // of the tuple of arguments; nil: never called
	state     *pattern // nil: none
	dict      *pattern // the items that an instance which is a dict takes
	list      *pattern // the elements of one that is a list
	check     check
	owns      map[string]bool // names that attributes may not have
	family    bool            // its instances are equal to each other at most
	set       *ClassSet
}

// A ClassSet is a named list of classes of one library that pickles may use as data.
type ClassSet struct {
	Name, About string
	// Libraries are the libraries and their versions for which the set was made and tried.
	Libraries []Library
	classes   []*class
	byName    map[string]*class
}

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
	dataFiles = sync.OnceValue(func() []*setFile { return []*setFile{libraryData(), newSetFile("tables", libraryData().read)} })
	// grantedFiles are the others, by name.
	grantedFiles = sync.OnceValue(func() (list []*setFile) {
		for _, name := range [...]string{"gensim", "imblearn", "lightgbm", "lightning", "networkx", "optuna", "scipy", "sklearn"} {
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
func (m *machine) takesCall(c *class, args ref, isNew bool) bool {
	p := c.call
	if isNew {
		p = c.new
	}
	return p != nil && m.matches(p, args, c) && (c.check == nil || c.check(m, c, refAbsent, args))
}

// takesState reports whether an instance takes a state. It gets one once.
func (m *machine) takesState(c *class, target, state ref) bool {
	return c.state != nil && m.g.state(target) == refAbsent && m.matches(c.state, state, c) && (c.check == nil || c.check(m, c, target, state))
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
