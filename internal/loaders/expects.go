package loaders

import (
	"slices"
	"strings"
	"sync"
)

// An Expected says which tensors transformers expects of a class, by the names of the file, as
// far as that follows from config.json. Its zero value expects nothing.
type Expected struct {
	Prefix  string              // the beginning that the bare model's names have in other classes
	Members map[string]Deciding // the members of config.json that decide, by path
	Inside  map[string]string   // the types of the models inside, of which alone this is known
	Groups  []NameGroup
	// Together lists, for the beginning of a layer's names, which vague groups a layer has.
	Together map[string][][]string
}

// A Deciding is a member of config.json.
type Deciding struct {
	Names   []string // of the last part of its path: some have several
	Default string   // "*" if none is known
}

// A NameGroup is names that are there under the same condition.
type NameGroup struct {
	When []Literal // all of them; none for always
	Any  bool      // one of them
	// Vague is the group's number, where no condition was found; with When, that of the group with
	// which it is.
	Vague string
	Loose bool // no condition was found, and it is not of a layer
	Own   bool // its names have no beginning that another class would have, or not have
	// Beginning has {} around what says how many numbers there are; Ends follow it.
	Beginning string
	Ends      []string
}

// A Literal is a condition on a member of config.json.
type Literal struct {
	Member  string
	Is      LiteralKind
	Each    bool // on the entry of the layer
	Yes, No []string
}

// A LiteralKind is how a literal asks.
type LiteralKind uint8

// The kinds of literals.
const (
	OneOf    LiteralKind = iota // its value is in a list
	IsTrue                      // it is not 0, null or false
	IsFalse                     // it is
	From                        // the number of the layer is at least it
	Before                      // or below it
	Listed                      // the list has the number of the layer
	Unlisted                    // or does not
	Tail                        // it is one of the last layers, of which the member is the number
	Body                        // or one before them
	First                       // it is the first layer
	Later                       // or another one
	Last                        // it is the last
	Earlier                     // or another one
)

// expectRows are the lines of the table, by type and class with a slash between.
var expectRows = sync.OnceValue(func() map[string][]string {
	found := map[string][]string{}
	rows(expectsText, func(f []string) {
		for _, class := range strings.Fields(f[0]) {
			found[class] = f[1:]
		}
	})
	return found
})

// Expects returns what transformers expects of a class of a model type. known is false if the
// table does not have the class.
func Expects(modelType, class string) (e Expected, known bool) {
	f, known := expectRows()[modelType+"/"+class]
	if !known {
		return e, false
	}
	main, other := strings.CutPrefix(f[0], "=")
	if !other {
		return expected(f), true
	}
	e, known = Expects(modelType, main)
	without := strings.Split(f[1], ",")
	for i := range e.Groups {
		g := &e.Groups[i]
		g.Ends = slices.DeleteFunc(slices.Clone(g.Ends), func(end string) bool { return g.Beginning == "" && slices.Contains(without, end) })
	}
	for text := range strings.FieldsSeq(f[2]) {
		g := nameGroup(text)
		g.Own = true
		e.Groups = append(e.Groups, g)
	}
	return e, known
}

// expected reads a row of the class that was examined.
func expected(f []string) Expected {
	e := Expected{Prefix: f[0], Members: map[string]Deciding{}, Inside: pairs(f[2]), Together: map[string][][]string{}}
	for names, value := range pairs(f[1]) {
		first, others, _ := strings.Cut(names, "/")
		d := Deciding{Names: []string{first[strings.LastIndexByte(first, '.')+1:]}, Default: value}
		if others != "" {
			d.Names = append(d.Names, strings.Split(others, "/")...)
		}
		e.Members[first] = d
	}
	for text := range strings.FieldsSeq(f[3]) {
		e.Groups = append(e.Groups, nameGroup(text))
	}
	for text := range strings.FieldsSeq(f[4]) {
		beginning, sets, _ := strings.Cut(text, ":")
		for set := range strings.SplitSeq(sets, ",") {
			e.Together[beginning] = append(e.Together[beginning], strings.FieldsFunc(set, func(r rune) bool { return r == '+' || r == '-' }))
		}
	}
	return e
}

func pairs(text string) map[string]string {
	found := map[string]string{}
	for pair := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(pair, "=")
		found[name] = value
	}
	return found
}

// nameGroup reads condition:beginning:ends.
func nameGroup(text string) (g NameGroup) {
	condition, rest, _ := strings.Cut(text, ":")
	beginning, ends, _ := strings.Cut(rest, ":")
	g.Beginning, g.Ends = beginning, unbraced(nil, "", ends)
	switch {
	case condition == "":
	case condition[0] == '~' || condition[0] == '?':
		g.Loose = condition[0] == '?'
		g.Vague, condition, _ = strings.Cut(condition[1:], "&")
	}
	g.Any = strings.Contains(condition, "/")
	for one := range strings.FieldsFuncSeq(condition, func(r rune) bool { return r == '&' || r == '/' }) {
		g.When = append(g.When, literal(one))
	}
	return g
}

// markers are those before a member, and what they say.
var markers = []struct {
	text string
	is   LiteralKind
}{{"#>=", From}, {"#<", Before}, {"#@", Listed}, {"#-", Unlisted}, {"#^", Tail}, {"#!", Body}, {"#0", First}, {"#+", Later}, {"#$", Last}, {"#_", Earlier}, {"-", IsFalse}}

func literal(text string) (l Literal) {
	for _, m := range markers {
		if member, ok := strings.CutPrefix(text, m.text); ok {
			l.Member, l.Each = strings.CutSuffix(member, "[]")
			l.Is = m.is
			return l
		}
	}
	member, values, some := strings.Cut(text, "=")
	l.Member, l.Each = strings.CutSuffix(member, "[]")
	if !some {
		l.Is = IsTrue
		return l
	}
	yes, no, _ := strings.Cut(values, "!")
	l.Yes, l.No = strings.Split(yes, ","), strings.Split(no, ",")
	return l
}

// unbraced returns names of which a(b,c) is a.b and a.c, each after what it begins with.
func unbraced(names []string, before, text string) []string {
	depth, from, open := 0, 0, -1
	for at := range len(text) + 1 {
		switch {
		case at == len(text) || depth == 0 && text[at] == ',':
			if open < 0 {
				names = append(names, before+text[from:at])
			}
			from, open = at+1, -1
		case text[at] == '(':
			if depth++; depth == 1 {
				open = at
			}
		case text[at] == ')':
			if depth--; depth == 0 {
				names = unbraced(names, before+text[from:open]+".", text[open+1:at])
			}
		}
	}
	return names
}
