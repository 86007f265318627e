package jinja

// The possible values of an expression. A string that the template makes of pieces must not name an
// attribute, and only data may be asked for one; so each expression, each variable and each
// member of a namespace has a value, which is the kinds of object that it may be.
//
// Order and scope do not matter: a name has one value in the whole template, which holds all
// that is ever given to it.

// kinds is a set.
type kinds uint16

const (
	numbers  kinds = 1 << iota // numbers, true, false, none, and what is undefined
	given                      // a string of the data, or a part of one
	words                      // a string that is written in the template, without an underscore
	parts                      // one with an underscore inside it: a name whole, a piece of one in parts
	made                       // a string that the template makes, or begins or ends with an underscore
	supplied                   // a list or a dictionary of the data
	own                        // one that the template makes
	lazy                       // what yields its elements one by one, and takes no others
	tuples                     // a tuple that a method or a filter makes, and takes no others
	space                      // a namespace
	macros                     // a macro of the template, whose name is not used but to call it
	bound                      // a method of data, which has attributes of its own
	reached                    // what a key that is a string of the data found: an attribute of a list, perhaps
)

const (
	strings_ = given | words | parts | made | reached
	holders  = supplied | own | lazy | tuples | reached
	calls    = bound | reached // what may be called, and is no data
	data     = numbers | given | supplied
)

// A value is what an expression may be, and what it may hold at any depth.
type value struct {
	self, deep kinds
	at         int32 // where a string that the template makes is made in this expression, or -1
}

func plain(self kinds) value      { return value{self: self, at: -1} }
func holding(deep kinds) value    { return value{self: own, deep: deep, at: -1} }
func madeAt(off int32) value      { return value{self: made, at: off} }
func all(self kinds) value        { return value{self: self, deep: self, at: -1} }
func (v value) has(k kinds) bool  { return v.self&k != 0 }
func (v value) whole() kinds      { return v.self | v.deep }
func (v value) only(k kinds) bool { return v.self&^k == 0 }

// madeAt is where a string is made, or else another place.
func (v value) madeAt(off int32) int32 {
	if v.at < 0 {
		return off
	}
	return v.at
}

// or joins two values.
func (v value) or(w value) value {
	at := v.at
	if at < 0 || w.at >= 0 && w.at < at {
		at = w.at
	}
	return value{v.self | w.self, v.deep | w.deep, at}
}

// contents is what v holds.
func (j *judge) contents(v value) kinds {
	out := v.deep
	if v.has(supplied | reached) {
		out |= j.heapSupplied
	}
	if v.has(own) {
		out |= j.heapOwn
	}
	return out
}

// everything is what v may be, and what is in it at any depth, now or later.
func (j *judge) everything(v value) kinds {
	out := v.whole()
	for range 3 { // what one holds may be another
		out |= j.contents(value{self: out})
		if out&space != 0 {
			out |= j.spaces
		}
	}
	return out
}

// joining is what is made of values, if nothing more is known of it: all that went in.
func (j *judge) joining(in kinds) value { return all(in | numbers) }

// member is an element of v, whatever its key, or a letter of it.
func (j *judge) member(v value) value {
	out := j.contents(v) | v.self&(given|words|made|reached)
	if v.has(space) {
		out |= j.spaces
	}
	if v.has(parts) {
		out |= made
	}
	return value{out, out, v.at}
}

// part is a part of the string v.
func part(v value, at int32) value {
	out := plain(v.self & (given | words))
	if v.has(given | supplied) { // what has the method is a string, if it is data
		out.self |= given
	}
	if v.has(parts | made | reached) {
		out = out.or(madeAt(at))
	}
	return out
}

// cells are the values of names.
type cells struct {
	index map[string]int32
	of    []value
}

func (c *cells) get(name string) (value, bool) {
	i, ok := c.index[name]
	if !ok {
		return plain(0), false
	}
	return c.of[i], true
}

// names are those that templates may use, with how many published templates do.
type names map[string]int

func (n names) has(name string) bool {
	_, ok := n[name]
	return ok
}

// globals are names of Jinja from which known escapes start, and those of web frameworks whose
// templates have been attacked. No other is called either; this says why.
var globals = map[string]bool{
	"lipsum": true, "cycler": true, "joiner": true, "self": true, "config": true, "request": true,
	"url_for": true, "get_flashed_messages": true, "builtins": true, "eval": true, "exec": true, "open": true,
	"getattr": true, "setattr": true, "globals": true, "locals": true, "vars": true, "compile": true, "environment": true,
}
