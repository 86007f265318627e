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
	kind      nodeKind
	not, lazy bool
	min, max  int // -1 for no limit
	set       *set
	list      []*node
}

// A set is the union of its items, intersected with another set; or the complement of
// that.
type set struct {
	not       bool
	fold      bool
	items     []setItem
	intersect *set
}

// A setItem is a range of characters, a test, or a set.
type setItem struct {
	lo, hi rune
	is     func(rune) bool
	set    *set
}

// has reports whether the set has a character. Case is ignored before the complement is
// taken.
func (s *set) has(r rune) bool {
	in := s.in(r)
	if s.fold && !in {
		for _, f := range caseFolds()[r] {
			if in = s.in(f); in {
				break
			}
		}
	}
	return in != s.not
}

// weight returns how many items are evaluated at most.
func weight(s *set) (n int64) {
	if s == nil {
		return 0
	}
	for i := range s.items {
		n += 1 + weight(s.items[i].set)
	}
	n += weight(s.intersect)
	if s.fold {
		n *= 4
	}
	return n
}

// in reports whether a character is in the items and the other set.
func (s *set) in(r rune) bool {
	for i := range s.items {
		in := false
		switch x := &s.items[i]; {
		case x.set != nil:
			in = x.set.has(r)
		case x.is != nil:
			in = x.is(r)
		default:
			in = x.lo <= r && r <= x.hi
		}
		if in {
			return s.intersect == nil || s.intersect.has(r)
		}
	}
	return false
}

// An exprReader parses an expression.
type exprReader struct {
	text []rune
	at   int
}

func (r *exprReader) unsupported(what string) error {
	return wire.ErrUnsupported.Errorf("the expression %s: %s at character %d", wire.Quote(string(r.text)), what, r.at)
}

func (r *exprReader) accept(s string) bool {
	if !strings.HasPrefix(string(r.text[r.at:min(len(r.text), r.at+len(s))]), s) {
		return false
	}
	r.at += len([]rune(s))
	return true
}

// matchesEmpty reports a node that may match nothing. Libraries differ in how they end the
// repetition of such.
func (n *node) matchesEmpty() bool {
	switch n.kind {
	case nodeSet:
		return false
	case nodeSequence:
		for _, one := range n.list {
			if !one.matchesEmpty() {
				return false
			}
		}
		return true
	case nodeChoice:
		for _, one := range n.list {
			if one.matchesEmpty() {
				return true
			}
		}
		return false
	case nodeRepeat:
		return n.min == 0 || n.list[0].matchesEmpty()
	}
	return true
}

// hasLongFold reports a sequence in which a character is equal to several others if case
// is ignored, like ß and ss.
func (n *node) hasLongFold() bool {
	text := ""
	for _, one := range n.list {
		if one.kind == nodeRepeat {
			one = one.list[0]
		}
		if one.kind != nodeSet {
			text += " "
			continue
		}
		for r := range longCaseFolds() {
			if !one.set.not && one.set.fold && one.set.in(r) {
				return true
			}
		}
		if x := one.set.items; len(x) == 1 && x[0].set == nil && x[0].is == nil && x[0].lo == x[0].hi {
			text += lower(string(x[0].lo))
		} else {
			text += " "
		}
	}
	for _, several := range longCaseFolds() {
		if strings.Contains(text, lower(several)) {
			return true
		}
	}
	return false
}

func (r *exprReader) until(stop string) bool {
	return r.at < len(r.text) && !strings.ContainsRune(stop, r.text[r.at])
}

func (r *exprReader) alternatives(depth int, fold bool) (*node, error) {
	if depth > maxNesting {
		return nil, r.unsupported("too many parentheses")
	}
	n := &node{kind: nodeChoice}
	for {
		s := &node{kind: nodeSequence}
		for r.until("|)") {
			one, err := r.repeated(depth, fold)
			if err != nil {
				return nil, err
			}
			s.list = append(s.list, one)
		}
		if fold && s.hasLongFold() {
			return nil, r.unsupported("a character that equals several when case is ignored")
		}
		n.list = append(n.list, s)
		if !r.accept("|") {
			return n, nil
		}
	}
}

// repeated reads an atom and its repetition.
func (r *exprReader) repeated(depth int, fold bool) (*node, error) {
	n, err := r.atom(depth, fold)
	if err != nil {
		return nil, err
	}
	for times := 0; ; times++ {
		least, most, counted := 1, 1, false
		switch {
		case r.accept("*"):
			least, most = 0, -1
		case r.accept("+"):
			least, most = 1, -1
		case r.accept("?"):
			least, most = 0, 1
		case r.at < len(r.text) && r.text[r.at] == '{':
			if least, most, err = r.repeatCount(); err != nil {
				return nil, err
			}
			counted = true
		default:
			return n, nil
		}
		if n.kind >= nodeLook || times > 0 || (most < 0 || most > 1) && n.matchesEmpty() {
			return nil, r.unsupported("a repeat of something that can be empty, or of a repeat")
		}
		n = &node{kind: nodeRepeat, min: least, max: most, list: []*node{n}}
		switch {
		case r.accept("?"):
			n.lazy = true
		case !counted && r.accept("+"): // of a count it would repeat what was repeated
			if n, err = r.possessive(n); err != nil {
				return nil, err
			}
		}
	}
}

// possessive makes a repetition that gives nothing back: for a set C, C++ is C+ not
// followed by C, and C?+ is C, or nothing if no C follows.
func (r *exprReader) possessive(n *node) (*node, error) {
	one := n.list[0]
	if one.kind != nodeSet || n.max > 1 {
		return nil, r.unsupported("a possessive repeat of more than a character")
	}
	if (&node{list: n.list}).hasLongFold() { // alternatives do not look within what this makes
		return nil, r.unsupported("a character that equals several when case is ignored")
	}
	none := &node{kind: nodeLook, not: true, set: one.set}
	if n.max == 1 {
		return &node{kind: nodeChoice, list: []*node{one, none}}, nil
	}
	return &node{kind: nodeSequence, list: []*node{n, none}}, nil
}

// repeatCount reads {n}, {n,} or {n,m}.
func (r *exprReader) repeatCount() (least, most int, err error) {
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
	if r.accept(",") {
		if most = number(); least < 0 && most >= 0 { // {,} is no count but a text
			least = 0
		}
	}
	if least < 0 || least > maxRepeat || most > maxRepeat || most >= 0 && most < least || !r.accept("}") {
		return 0, 0, r.unsupported("a count")
	}
	return least, most, nil
}

// atom reads an anchor, a group, a set or a character.
func (r *exprReader) atom(depth int, fold bool) (*node, error) {
	switch {
	case r.accept("^"):
		return &node{kind: nodeLineBegin}, nil
	case r.accept("$"):
		return &node{kind: nodeLineEnd}, nil
	case r.accept(`\A`):
		return &node{kind: nodeBegin}, nil
	case r.accept(`\z`):
		return &node{kind: nodeEnd}, nil
	case r.accept("(?!"):
		return r.look(depth, fold, true)
	case r.accept("(?="):
		return r.look(depth, fold, false)
	case r.accept("(?i:"):
		return r.group(depth, true)
	case r.accept("(?:"):
		return r.group(depth, fold)
	case r.accept("(?"):
		return nil, r.unsupported("a group")
	case r.accept("("):
		return r.group(depth, fold)
	case r.accept("["):
		s, err := r.class(depth)
		if err != nil {
			return nil, err
		}
		s.fold = fold
		return &node{set: s}, nil
	case r.accept("."):
		return &node{set: &set{not: true, items: []setItem{{lo: '\n', hi: '\n'}}}}, nil
	}
	if strings.ContainsRune("*+?{", r.text[r.at]) {
		return nil, r.unsupported("a repeat without an operand")
	}
	x, err := r.character()
	return &node{set: &set{fold: fold && x.set == nil, items: []setItem{x}}}, err
}

func (r *exprReader) group(depth int, fold bool) (*node, error) {
	n, err := r.alternatives(depth+1, fold)
	if err == nil && !r.accept(")") {
		err = r.unsupported("a parenthesis that is not closed")
	}
	return n, err
}

// look reads a lookahead: one character of a set.
func (r *exprReader) look(depth int, fold, not bool) (*node, error) {
	n, err := r.group(depth, fold)
	if err != nil {
		return nil, err
	}
	s := &set{}
	for _, a := range n.list {
		if len(a.list) != 1 || a.list[0].kind != nodeSet {
			return nil, r.unsupported("a look ahead at more than one character")
		}
		s.items = append(s.items, setItem{set: a.list[0].set})
	}
	return &node{kind: nodeLook, not: not, set: s}, nil
}
