package journal

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

// header returns the text of the facts, without its seal.
func header(facts []Fact) []byte {
	p := []byte(format + "\n")
	for _, f := range facts {
		p = append(p, 'f', ' ')
		p = strconv.AppendQuote(p, f.Name)
		p = append(p, ' ')
		p = strconv.AppendQuote(p, f.Value)
		p = append(p, '\n')
	}
	return p
}

// fact parses a line of the header.
func fact(b *limits.Budget, line string) (f Fact, ok bool, err error) {
	rest, ok := strings.CutPrefix(line, "f ")
	if !ok {
		return f, false, nil
	}
	if err := b.Hold(int64(2 * len(line))); err != nil {
		return f, false, err
	}
	name, err1 := strconv.QuotedPrefix(rest)
	value, spaced := strings.CutPrefix(rest[len(name):], " ")
	f.Name, err = strconv.Unquote(name)
	f.Value, ok = "", err1 == nil && err == nil && spaced
	if ok {
		f.Value, err = strconv.Unquote(value)
		ok = err == nil
	}
	return f, ok, nil
}

// difference compares facts by their names. It is nil if there is none.
func difference(was, now []Fact) error {
	d := &Differs{}
	for i := 0; i < max(len(was), len(now)); i++ {
		switch {
		case i >= len(was):
			d.add(Fact{now[i].Name, ""}, now[i])
		case i >= len(now):
			d.add(was[i], Fact{was[i].Name, ""})
		case was[i] == now[i]:
		case was[i].Name == now[i].Name:
			d.add(was[i], now[i])
		default:
			return d.unordered(was[i:], now[i:])
		}
	}
	if len(d.Was) == 0 {
		return nil
	}
	return d
}

func (d *Differs) add(was, now Fact) { d.Was, d.Now = append(d.Was, was), append(d.Now, now) }

// unordered adds the differences of lists in which something was left out or added.
func (d *Differs) unordered(was, now []Fact) error {
	values := make(map[string]string, len(now)) // of this run's own facts
	for _, f := range now {
		values[f.Name] = f.Value
	}
	for _, f := range was {
		if v, ok := values[f.Name]; !ok || v != f.Value {
			d.add(f, Fact{f.Name, v})
		}
		delete(values, f.Name)
	}
	for _, f := range now {
		if v, ok := values[f.Name]; ok {
			d.add(Fact{f.Name, ""}, Fact{f.Name, v})
			delete(values, f.Name)
		}
	}
	if len(d.Was) == 0 { // the same facts in another order
		d.add(was[0], now[0])
	}
	return d
}
