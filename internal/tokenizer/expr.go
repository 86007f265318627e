package tokenizer

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

type nodeKind uint8

const (
	nodeSet nodeKind = iota
	nodeSequence
	nodeChoice
	nodeRepeat
	nodeLook
	nodeBegin
	nodeEnd
	nodeLineBegin
	nodeLineEnd
)

// A node is a part of an expression.
type node struct {
	kind        nodeKind
	not, lazy   bool
	least, most int // most is -1 for no end
	set         *set
	list        []*node
}

// A set is characters: the union of its items, within another set, or all others.
type set struct {
	not    bool
	fold   bool
	items  []item
	within *set
}

// An item is a range of characters, those that a test accepts, or a set.
type item struct {
	lo, hi rune
	is     func(rune) bool
	of     *set
}

// has reports a character that the set takes. Case counts for nothing before the set is
// turned into all others.
func (s *set) has(r rune) bool {
	in := s.in(r)
	if s.fold && !in {
		for _, f := range folds()[r] {
			if in = s.in(f); in {
				break
			}
		}
	}
	return in != s.not
}

// weight is how many items are asked about a character at most.
func weight(s *set) (n int64) {
	if s == nil {
		return 0
	}
	for i := range s.items {
		n += 1 + weight(s.items[i].of)
	}
	n += weight(s.within)
	if s.fold {
		n *= 4
	}
	return n
}

// in reports a character of the items, within the other set.
func (s *set) in(r rune) bool {
	for i := range s.items {
		in := false
		switch x := &s.items[i]; {
		case x.of != nil:
			in = x.of.has(r)
		case x.is != nil:
			in = x.is(r)
		default:
			in = x.lo <= r && r <= x.hi
		}
		if in {
			return s.within == nil || s.within.has(r)
		}
	}
	return false
}

// An exprReader reads an expression.
type exprReader struct {
	text []rune
	at   int
}

func (r *exprReader) unknown(what string) error {
	return wire.ErrUnsupported.Errorf("the expression %s: %s at character %d", wire.Quote(string(r.text)), what, r.at)
}

func (r *exprReader) take(s string) bool {
	if !strings.HasPrefix(string(r.text[r.at:min(len(r.text), r.at+len(s))]), s) {
		return false
	}
	r.at += len([]rune(s))
	return true
}

// empty reports what may match nothing. Repeating it again and again ends by rules of
// each library.
func (n *node) empty() bool {
	switch n.kind {
	case nodeSet:
		return false
	case nodeSequence:
		for _, one := range n.list {
			if !one.empty() {
				return false
			}
		}
		return true
	case nodeChoice:
		for _, one := range n.list {
			if one.empty() {
				return true
			}
		}
		return false
	case nodeRepeat:
		return n.least == 0 || n.list[0].empty()
	}
	return true
}

// long reports a sequence in which a character, or several side by side, are equal to
// several others where case counts for nothing: ss and ß.
func (n *node) long() bool {
	text := ""
	for _, one := range n.list {
		if one.kind == nodeRepeat {
			one = one.list[0]
		}
		if one.kind != nodeSet {
			text += " "
			continue
		}
		for r := range longFolds() {
			if !one.set.not && one.set.fold && one.set.in(r) {
				return true
			}
		}
		if x := one.set.items; len(x) == 1 && x[0].of == nil && x[0].is == nil && x[0].lo == x[0].hi {
			text += lower(string(x[0].lo))
		} else {
			text += " "
		}
	}
	for _, several := range longFolds() {
		if strings.Contains(text, lower(several)) {
			return true
		}
	}
	return false
}

func (r *exprReader) more(stop string) bool {
	return r.at < len(r.text) && !strings.ContainsRune(stop, r.text[r.at])
}

func (r *exprReader) alternatives(depth int, fold bool) (*node, error) {
	if depth > maxNesting {
		return nil, r.unknown("too many parentheses")
	}
	n := &node{kind: nodeChoice}
	for {
		s := &node{kind: nodeSequence}
		for r.more("|)") {
			one, err := r.repeated(depth, fold)
			if err != nil {
				return nil, err
			}
			s.list = append(s.list, one)
		}
		if fold && s.long() {
			return nil, r.unknown("a character that equals several when case is ignored")
		}
		n.list = append(n.list, s)
		if !r.take("|") {
			return n, nil
		}
	}
}

// repeated reads one thing and how often it stands.
func (r *exprReader) repeated(depth int, fold bool) (*node, error) {
	n, err := r.atom(depth, fold)
	if err != nil {
		return nil, err
	}
	for times := 0; ; times++ {
		least, most, counted := 1, 1, false
		switch {
		case r.take("*"):
			least, most = 0, -1
		case r.take("+"):
			least, most = 1, -1
		case r.take("?"):
			least, most = 0, 1
		case r.at < len(r.text) && r.text[r.at] == '{':
			if least, most, err = r.counts(); err != nil {
				return nil, err
			}
			counted = true
		default:
			return n, nil
		}
		if n.kind >= nodeLook || times > 0 || (most < 0 || most > 1) && n.empty() {
			return nil, r.unknown("a repeat of something that can be empty, or of a repeat")
		}
		n = &node{kind: nodeRepeat, least: least, most: most, list: []*node{n}}
		switch {
		case r.take("?"):
			n.lazy = true
		case !counted && r.take("+"): // of a count it would repeat what was repeated
			if n, err = r.possessive(n); err != nil {
				return nil, err
			}
		}
	}
}

// possessive makes a repeat one that gives nothing back: of a set C, C++ is C+ that
// no C follows, and C?+ is C, or nothing where no C follows.
func (r *exprReader) possessive(n *node) (*node, error) {
	one := n.list[0]
	if one.kind != nodeSet || n.most > 1 {
		return nil, r.unknown("a possessive repeat of more than a character")
	}
	if (&node{list: n.list}).long() { // alternatives do not look within what this makes
		return nil, r.unknown("a character that equals several when case is ignored")
	}
	none := &node{kind: nodeLook, not: true, set: one.set}
	if n.most == 1 {
		return &node{kind: nodeChoice, list: []*node{one, none}}, nil
	}
	return &node{kind: nodeSequence, list: []*node{n, none}}, nil
}

// counts reads {n}, {n,} or {n,m}.
func (r *exprReader) counts() (least, most int, err error) {
	r.at++
	number := func() int {
		n := -1
		for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' && n <= maxRepeat {
			n = max(n, 0)*10 + int(r.text[r.at]-'0')
			r.at++
		}
		return n
	}
	least = number()
	most = least
	if r.take(",") {
		if most = number(); least < 0 {
			least = 0
		}
	}
	if least < 0 || least > maxRepeat || most > maxRepeat || most >= 0 && most < least || !r.take("}") {
		return 0, 0, r.unknown("a count")
	}
	return least, most, nil
}

// atom reads one thing.
func (r *exprReader) atom(depth int, fold bool) (*node, error) {
	switch {
	case r.take("^"):
		return &node{kind: nodeLineBegin}, nil
	case r.take("$"):
		return &node{kind: nodeLineEnd}, nil
	case r.take(`\A`):
		return &node{kind: nodeBegin}, nil
	case r.take(`\z`):
		return &node{kind: nodeEnd}, nil
	case r.take("(?!"):
		return r.look(depth, fold, true)
	case r.take("(?="):
		return r.look(depth, fold, false)
	case r.take("(?i:"):
		return r.group(depth, true)
	case r.take("(?:"):
		return r.group(depth, fold)
	case r.take("(?"):
		return nil, r.unknown("a group")
	case r.take("("):
		return r.group(depth, fold)
	case r.take("["):
		s, err := r.class(depth)
		if err != nil {
			return nil, err
		}
		s.fold = fold
		return &node{set: s}, nil
	case r.take("."):
		return &node{set: &set{not: true, items: []item{{lo: '\n', hi: '\n'}}}}, nil
	}
	if strings.ContainsRune("*+?{", r.text[r.at]) {
		return nil, r.unknown("a repeat without an operand")
	}
	x, err := r.character()
	return &node{set: &set{fold: fold && x.of == nil, items: []item{x}}}, err
}

func (r *exprReader) group(depth int, fold bool) (*node, error) {
	n, err := r.alternatives(depth+1, fold)
	if err == nil && !r.take(")") {
		err = r.unknown("a parenthesis that is not closed")
	}
	return n, err
}

// look reads what has to follow, or not to: one character of a set.
func (r *exprReader) look(depth int, fold, not bool) (*node, error) {
	n, err := r.group(depth, fold)
	if err != nil {
		return nil, err
	}
	s := &set{}
	for _, a := range n.list {
		if len(a.list) != 1 || a.list[0].kind != nodeSet {
			return nil, r.unknown("a look ahead at more than one character")
		}
		s.items = append(s.items, item{of: a.list[0].set})
	}
	return &node{kind: nodeLook, not: not, set: s}, nil
}
