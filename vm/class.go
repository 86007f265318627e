package vm

import (
	"cmp"
	"embed"
	"slices"
	"sync"
)

// A class is what a set says about one class or function of a library: how its instances
// are made, and which states they take. What it does not say is refused.
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

var (
	//go:embed sets/data.set
	dataText string
	//go:embed sets/tables.set
	tablesText string
	//go:embed sets
	setFiles embed.FS
)

// libraryData are the classes of Python and NumPy that hold data.
var libraryData = sync.OnceValue(func() *ClassSet { return mustParse(dataText, nil) })

// dataSets are the sets that need no permission.
var dataSets = sync.OnceValue(func() []*ClassSet {
	return []*ClassSet{libraryData(), mustParse(tablesText, libraryData())}
})

func mustParse(text string, data *ClassSet) *ClassSet {
	s, err := parseSet(text, data)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return s
}

// classOf returns what the data of libraries, or else a set that comes with this package,
// says about a global.
func classOf(module, name string) *class {
	full := module + "." + name
	for _, sets := range [][]*ClassSet{dataSets(), classSets()} {
		for _, s := range sets {
			if c := s.byName[full]; c != nil {
				return c
			}
		}
	}
	return nil
}

// classSets are the sets that come with this package, by name. Data of libraries is not
// among them: it needs no permission.
var classSets = sync.OnceValue(func() (list []*ClassSet) {
	for _, name := range setNames {
		text, err := setFiles.ReadFile("sets/" + name + ".set")
		if err != nil {
			panic("internal error: " + err.Error())
		}
		list = append(list, mustParse(string(text), libraryData()))
	}
	slices.SortFunc(list, func(a, b *ClassSet) int { return cmp.Compare(a.Name, b.Name) })
	return list
})

// setNames are the sets that come with this package.
var setNames = []string{"gensim", "imblearn", "lightgbm", "lightning", "networkx", "optuna", "scipy", "sklearn"}

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
func ClassSets() []*ClassSet { return classSets() }
