package strictjson

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Object reads an object. It calls member before each value, with the name after escapes are
// resolved. A name without escapes is a slice of the text.
func (d *Decoder) Object(member func(name string) error) error {
	return d.ObjectOf(0, member)
}

// ObjectOf is [Decoder.Object] for an object of about hint members: the duplicate check then
// allocates once.
func (d *Decoder) ObjectOf(hint int, member func(name string) error) error {
	seen := names{hint: hint}
	empty, err := d.open(Object, '}')
	for more := !empty; more && err == nil; {
		if err = d.member(&seen, member); err == nil {
			more, err = d.comma('}')
		}
	}
	return err
}

func (d *Decoder) member(seen *names, visit func(name string) error) error {
	if d.peek() != '"' {
		return d.missing("a member name")
	}
	at := d.pos
	name, err := d.quoted(true)
	if err == nil {
		err = seen.add(d, at, name)
	}
	if err != nil {
		return d.FailAt("", d.text.Off+int64(at), err)
	}
	if err := d.colon(at); err != nil {
		return err
	}
	start := d.pos
	if err := visit(name); err != nil {
		return err
	}
	if d.pos == start {
		return d.Skip()
	}
	return nil
}

// colon reads from the end of a name, which began at at, to its value, and charges for the member.
func (d *Decoder) colon(at int) error {
	if d.peek() != ':' {
		return d.missing("a colon")
	}
	d.pos++
	d.space()
	d.name = at
	return d.item()
}

// Fields reads an object that has only the named members, at most 64, in any order; the given order
// is the fastest. It calls member with the index of each and returns which ones there are: bit i
// for name i.
func (d *Decoder) Fields(names []string, member func(i int) error) (has uint64, err error) {
	empty, err := d.open(Object, '}')
	for more, next := !empty, 0; more && err == nil; next++ {
		if next, err = d.field(names, next, &has); err != nil {
			break
		}
		start := d.pos
		if err = member(next); err == nil && d.pos == start {
			err = d.Skip()
		}
		if err == nil {
			more, err = d.comma('}')
		}
	}
	return has, err
}

// field reads a name and returns its index. It tries the expected name first.
func (d *Decoder) field(names []string, next int, has *uint64) (int, error) {
	if d.peek() != '"' {
		return 0, d.missing("a member name")
	}
	at := d.pos
	if err := d.steps.Step(); err != nil {
		return 0, d.Fail("", err)
	}
	if next < len(names) && d.plain(names[next]) {
		d.pos += len(names[next]) + 2
	} else {
		name, err := d.quoted(true)
		if err != nil {
			return 0, err
		}
		if next = slices.Index(names, name); next < 0 {
			return 0, d.FailAt("", d.text.Off+int64(at), wire.ErrSyntax.WithRule("json.member-unknown").Errorf("no member is named %s here", wire.Quote(name)))
		}
	}
	if *has>>next&1 != 0 {
		return 0, d.FailAt("", d.text.Off+int64(at), duplicate(names[next]))
	}
	*has |= 1 << next
	return next, d.colon(at)
}

// plain reports whether the string that comes next is name, without escapes.
func (d *Decoder) plain(name string) bool {
	s := d.text.Body[d.pos+1:]
	return len(s) > len(name) && s[len(name)] == '"' && s[:len(name)] == name
}

// Array reads an array: element is called before each element.
func (d *Decoder) Array(element func(i int) error) error {
	empty, err := d.open(Array, ']')
	for i, more := 0, !empty; more && err == nil; i++ {
		if err = d.element(i, element); err == nil {
			more, err = d.comma(']')
		}
	}
	return err
}

func (d *Decoder) element(i int, visit func(i int) error) error {
	d.space()
	k, err := d.Kind()
	if err != nil {
		return err
	}
	if k >= String {
		if err := d.item(); err != nil {
			return err
		}
	}
	start := d.pos
	if err := visit(i); err != nil {
		return err
	}
	if d.pos == start {
		return d.Skip()
	}
	return nil
}

// Uints reads an array of plain integers of at most limit and appends them to
// list, whose growth is charged.
func (d *Decoder) Uints(list []uint64, limit uint64) ([]uint64, error) {
	empty, err := d.open(Array, ']')
	for more := !empty; more && err == nil; {
		if len(list) == cap(list) {
			if list, err = limits.Grow(d.b, list, 1); err != nil {
				return list, d.Fail("", err)
			}
		}
		var n uint64
		if n, more, err = d.number(limit); err == nil {
			list = append(list, n)
		}
	}
	return list, err
}

// number reads one number of an array and what follows it. The form that writers use, digits and
// then at once a comma or the bracket, takes a fast path that reads each byte once.
func (d *Decoder) number(limit uint64) (n uint64, more bool, err error) {
	s := d.text.Body[d.pos:]
	i := 0
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		n = n*10 + uint64(s[i]-'0')
	}
	usual := i < len(s) && i > 0 && i <= 19 && (s[0] != '0' || i == 1) && n <= limit && (s[i] == ',' || s[i] == ']')
	if usual {
		if more = s[i] == ','; !more {
			d.depth--
		}
		if err = d.steps.Step(); err != nil {
			err = d.Fail("", err)
		}
		d.pos += i + 1
		return n, more, err
	}
	d.space()
	if n, err = d.Uint(limit); err == nil {
		more, err = d.comma(']')
	}
	return n, more, err
}

// open reads the opening bracket of an object or array, and also the closing one if it is empty.
func (d *Decoder) open(k Kind, closing byte) (empty bool, err error) {
	if err := d.value(k); err != nil {
		return false, err
	}
	if d.depth == d.entered {
		if err := d.b.Enter(); err != nil {
			return false, d.Fail("", err)
		}
		d.entered++
	}
	d.depth++
	d.pos++
	if d.peek() != closing {
		return false, nil
	}
	d.depth--
	d.pos++
	return true, nil
}

// comma reads the separator after an element; more is false for the closing bracket.
func (d *Decoder) comma(closing byte) (more bool, err error) {
	switch d.peek() {
	case ',':
		d.pos++
		return true, nil
	case closing:
		d.pos++
		d.depth--
		return false, nil
	}
	return false, d.missing("a comma or a closing bracket")
}

// Folded returns the known name that differs from a member's name only in case: a reader that
// ignores case would confuse them.
func Folded(name string, known ...string) (string, bool) {
	i := slices.IndexFunc(known, func(k string) bool { return name != k && strings.EqualFold(name, k) })
	if i < 0 {
		return "", false
	}
	return known[i], true
}
