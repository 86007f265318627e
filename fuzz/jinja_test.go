package fuzz_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/jinja"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A jinjaMaker makes a template by the grammar, as bytes choose.
type jinjaMaker struct {
	choices []byte
	depth   int
	evil    int // what leads into the interpreter
}

func (m *jinjaMaker) pick(n int) int {
	if len(m.choices) == 0 {
		return 0
	}
	c := m.choices[0]
	m.choices = m.choices[1:]
	return int(c) % n
}

var (
	jinjaHarmless = []string{
		"a", "messages", "'a'", "1", "[$, $]", "{'a': $}", "($)", "$ ~ $", "$ + $", "$ if $ else $", "not $", "$ is defined", "a.b", "a['b']", "a[1:]", "$|length",
		"a.strip()", "range($)", "$ in $", "$ and $", "a|map(attribute='b')|list", "'<{}>'.format($)", "-1", "messages[0]['content']", "a|default($)",
	}
	jinjaEvil = []string{
		"a.__class__", "a['__class__']", "a['_a']", "a|attr('b')", "a()", "a[b ~ c]", "lipsum(1)", "a.system($)", "a|pickle", "a[b].c", "a['\\x5f_']", "loop.x", "a|map('attr', 'b')", "(a.b)()", "a is pickle",
		"a.gi_frame", "a.format(b)", "{a: 1}", "dict(b)", "a|map(attribute=b ~ c)|list", "'a_b'[1]",
	}
	jinjaStatements = []string{
		"{{ $ }}", "{% set k = $ %}", "{% if $ %}&{% elif $ %}&{% else %}&{% endif %}", "{% for m in $ if $ %}&{% else %}&{% endfor %}", "{%- for k, v in a.items() -%}&{%- endfor -%}",
		"{% macro f(p, q=$) %}&{% endmacro %}{{ f($) }}", "{% set k %}&{% endset %}", "{% filter upper|trim %}&{% endfilter %}", "{% with p = $ %}&{% endwith %}", "{% generation %}&{% endgeneration %}",
		"{# {{ a.__class__ }} #}text", "{% raw %}{{ a.__class__ }}{% endraw %}", "{% do $ %}", "{% set k = namespace(b=$) %}", "{% print $, $ %}",
	}
)

// fill replaces $ by expressions, and & by statements.
func (m *jinjaMaker) fill(s string) string {
	m.depth++
	defer func() { m.depth-- }()
	var out strings.Builder
	for _, c := range s {
		switch c {
		case '$':
			e := m.expression()
			if strings.Contains(e, " ") { // Jinja chains no tests, and takes no condition in a loop, no not in a sum
				e = "(" + e + ")"
			}
			out.WriteString(e)
		case '&':
			out.WriteString(m.body())
		default:
			out.WriteRune(c)
		}
	}
	return out.String()
}

func (m *jinjaMaker) expression() string {
	if m.depth > 6 {
		return "a"
	}
	if m.pick(16) == 15 {
		m.evil++
		return m.fill(jinjaEvil[m.pick(len(jinjaEvil))])
	}
	return m.fill(jinjaHarmless[m.pick(len(jinjaHarmless))])
}

func (m *jinjaMaker) body() string {
	if m.depth > 4 {
		return ""
	}
	var out strings.Builder
	for range 1 + m.pick(3) {
		out.WriteString(m.fill(jinjaStatements[m.pick(len(jinjaStatements))]))
	}
	return out.String()
}

// FuzzJinja tests that a template which the grammar makes is parsed, that what leads into the
// interpreter is found anywhere in it, and that a tighter account gives the same answer or none.
func FuzzJinja(f *testing.F) {
	for i := range len(jinjaEvil) {
		f.Add([]byte{0, 0, 15, byte(i)})
		f.Add([]byte{1, byte(i % len(jinjaStatements)), 15, byte(i), 2, 3, 4, 5, 15, 6})
	}
	for i := range len(jinjaStatements) {
		f.Add([]byte{2, byte(i), 1, byte(i), 2, 5, 3, 7, byte(i), 4, 8})
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		m := jinjaMaker{choices: choices[:min(len(choices), 400)]}
		template := m.body()
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		issues, err := jinja.Check(b, template)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range issues {
			if i.Code == jinja.CodeSyntax || i.Off < 0 || i.Off > len(template) || i.Line != 1+strings.Count(template[:i.Off], "\n") {
				t.Fatalf("%+v in %q", i, template)
			}
		}
		if m.evil > 0 && len(issues) == 0 {
			t.Fatalf("nothing found in %q", template)
		}
		tight := limits.Policy{MaxSteps: int64(len(template)), MaxTotalBytes: int64(64 * len(template))}.Budget(t.Context())
		defer tight.Close()
		again, err := jinja.Check(tight, template)
		if _, ok := errors.AsType[*limits.Error](err); err != nil && !ok || err == nil && len(again) != len(issues) {
			t.Fatalf("%v, %v of %d in a tighter account", err, again, len(issues))
		}
	})
}
