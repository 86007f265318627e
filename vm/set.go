package vm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxSetLines bounds the lines of a set.
const maxSetLines = 1 << 16

// parseSet reads the text of a set:
//
//	set data                           its name
//	about Data of NumPy                what it is for
//	library numpy 1.20 2.5             the versions that it was made from, oldest and newest
//	versions 1.19.5 1.20.0             those that forms tell apart
//	type index = int | none            a pattern with a name
//	class numpy.matrix numpy.m.matrix  a class or a function, by all names that it has had
//	  in 1.19.5 1.20.0-1.22.4          the lines that follow are of these versions
//	  call (str, int?)                 the arguments of REDUCE
//	  new ()                           the arguments of NEWOBJ
//	  state {'a': int, 'b'?: any}      the state of BUILD
//	  dict {str: any}                  the items of an instance that is a dict
//	  list int                         the elements of an instance that is a list
//	  check sparse                     a rule that no pattern can say
//	  owns fit predict                 names that attributes may not have
//	  family                           instances are equal to each other at most
//	  key name offset                  instances are equal if these attributes are: texts, None, torch.Size
//
// A name with a colon, such as zoneinfo:ZoneInfo._unpickle, says where the module ends. A
// set names nothing that is dangerous, and nothing that the machine knows itself.
func parseSet(text string, data *ClassSet) (*ClassSet, error) {
	r := setReader{set: &ClassSet{byName: map[string]*class{}}, data: data, types: map[string]*pattern{}}
	lines := strings.Split(text, "\n")
	if len(lines) > maxSetLines {
		return nil, fmt.Errorf("a class set of more than %d lines", maxSetLines)
	}
	// Classes may name each other, so all names come first.
	for pass := range 2 {
		for i, line := range lines {
			if err := r.line(strings.TrimRight(line, " \r"), pass); err != nil {
				return nil, fmt.Errorf("line %d of the class set: %w", i+1, err)
			}
		}
	}
	if r.set.Name == "" || r.set.About == "" || len(r.set.Libraries) == 0 {
		return nil, errors.New("a class set without set, about or library")
	}
	for _, c := range r.set.classes {
		for _, f := range c.forms {
			if f.call == nil && f.new == nil && (f.state != nil || f.dict != nil || f.list != nil) {
				return nil, fmt.Errorf("%s takes a state and is never made", c.names[0])
			}
		}
	}
	return r.set, nil
}

type setReader struct {
	set   *ClassSet
	data  *ClassSet // whose classes it may name
	types map[string]*pattern
	at    *class // of the lines that follow
}

func (r *setReader) line(line string, pass int) error {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch {
	case word == "" || word[0] == '#':
		return nil
	case word == "class" && pass == 0:
		return r.newClass(strings.Fields(rest))
	case word == "class":
		r.at = r.set.byName[strings.Fields(rest)[0]]
		return nil
	case pass == 0:
		return nil
	case line[0] == ' ':
		if r.at == nil {
			return errors.New("it belongs to no class")
		}
		return r.about(word, rest)
	}
	return r.head(word, rest)
}

func (r *setReader) head(word, rest string) error {
	switch word {
	case "set":
		if r.set.Name != "" || !isSetName(rest) {
			return fmt.Errorf("%q is not a name of a set", rest)
		}
		r.set.Name = rest
	case "about":
		r.set.About = rest
	case "library":
		f := strings.Fields(rest)
		if len(f) != 3 {
			return errors.New("a library has a name and two versions")
		}
		r.set.Libraries = append(r.set.Libraries, Library{f[0], f[1], f[2]})
	case "versions":
		r.set.versions = strings.Fields(rest)
		if n := len(r.set.versions); n == 0 || n > maxVersions {
			return fmt.Errorf("%d versions", n)
		}
	case "type":
		name, text, ok := strings.Cut(rest, " = ")
		if _, twice := r.types[name]; !ok || twice || !isSetName(name) {
			return fmt.Errorf("%q is not a new name of a type", name)
		}
		p, err := r.pattern(text)
		r.types[name] = p
		return err
	default:
		return fmt.Errorf("%q is not a line of a class set", word)
	}
	return nil
}

func isSetName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

func (r *setReader) newClass(names []string) error {
	if len(names) == 0 {
		return errors.New("a class without a name")
	}
	c := &class{set: r.set, forms: []form{{versions: ^uint64(0)}}}
	for _, name := range names {
		module, last, ok := splitClass(name)
		if !ok || !isDotted(module) || !isDotted(last) || strings.Contains(last, "..") {
			return fmt.Errorf("%q is not a class", name)
		}
		if id, _ := lookup(module, last); id != NoID {
			return fmt.Errorf("%q is data already", name)
		}
		if why := danger(module, last); why != "" && !strings.Contains(name, ":") {
			return fmt.Errorf("%q is dangerous: %s", name, why)
		}
		full := module + "." + last
		if r.set.byName[full] != nil {
			return fmt.Errorf("%q appears twice", name)
		}
		c.names = append(c.names, full)
		r.set.byName[full] = c
	}
	r.set.byName[names[0]] = c
	r.set.classes = append(r.set.classes, c)
	return nil
}

// splitClass splits a name at its colon, or at the last dot.
func splitClass(name string) (module, last string, ok bool) {
	if module, last, ok = strings.Cut(name, ":"); ok {
		// Only classes of which the loader's own code is known reach through a dot.
		return module, last, module == "zoneinfo" && last == "ZoneInfo._unpickle"
	}
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || dot == len(name)-1 {
		return "", "", false
	}
	return name[:dot], name[dot+1:], true
}

func (r *setReader) pattern(text string) (*pattern, error) {
	p := patternReader{rest: text, types: r.types, named: r.find, of: r.set}
	return p.whole()
}

// find returns a class of the set, or of the data of libraries.
func (r *setReader) find(name string) *class {
	if c := r.set.byName[name]; c != nil || r.data == nil {
		return c
	}
	return r.data.byName[name]
}

// inVersions begins a form of the class for versions: single ones, and ranges of them.
func (r *setReader) inVersions(text string) error {
	bits := uint64(0)
	for part := range strings.FieldsSeq(text) {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		low, high := slices.Index(r.set.versions, from), slices.Index(r.set.versions, to)
		if low < 0 || high < low {
			return fmt.Errorf("%q is not among the versions of the set", part)
		}
		for i := low; i <= high; i++ {
			bits |= 1 << i
		}
	}
	c := r.at
	switch first := &c.forms[0]; {
	case bits == 0:
		return errors.New("in says no version")
	case first.versions == ^uint64(0):
		if first.call != nil || first.new != nil || first.state != nil || first.dict != nil || first.list != nil || first.checks != nil {
			return errors.New("in comes after a line that is of all versions")
		}
		first.versions = bits
		return nil
	case c.versions()&bits != 0:
		return fmt.Errorf("a version of %q has two forms", text)
	}
	c.forms = append(c.forms, form{versions: bits})
	return nil
}

func (r *setReader) about(word, rest string) (err error) {
	c := &r.at.forms[len(r.at.forms)-1]
	to := map[string]**pattern{"call": &c.call, "new": &c.new, "state": &c.state, "dict": &c.dict, "list": &c.list}[word]
	if to == nil {
		return r.aboutAll(c, word, rest)
	}
	if *to != nil {
		return fmt.Errorf("%q appears twice", word)
	}
	if *to, err = r.pattern(rest); err == nil && word == "state" {
		for i, part := range (*to).parts {
			if part.op == versionOf && (*to).op == record {
				r.at.dated = (*to).keys[i]
			}
		}
	}
	return err
}

// aboutAll reads a line about a class that has no pattern.
func (r *setReader) aboutAll(c *form, word, rest string) error {
	switch word {
	case "in":
		return r.inVersions(rest)
	case "check":
		if checks[rest] == nil {
			return fmt.Errorf("%q is not a rule", rest)
		}
		c.checks = append(c.checks, rest)
		return nil
	case "owns":
		r.at.owns = map[string]bool{}
		for name := range strings.FieldsSeq(rest) {
			r.at.owns[name] = true
		}
		return nil
	case "family":
		r.at.family = true
		return nil
	case "key":
		r.at.equal = strings.Fields(rest)
		return nil
	}
	return fmt.Errorf("%q says nothing about a class", word)
}
