package jinja_test

import (
	"errors"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/jinja"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// An account that refuses a charge ends the check, even if it would accept later ones: otherwise a
// bound could be missed.
func TestEveryRefusedChargeEndsTheCheck(t *testing.T) {
	for _, template := range []string{
		`{{ bos_token }}{% for m in messages %}{{ m['role'] + ': ' + m['content']|trim }}{% endfor %}`,
		`{% set a = 'x' %}{% set b = a + a %}{% for m in messages %}{% set a = a + m.content %}{{ a }}{% endfor %}`,
		`{% macro f(x, y=1) %}{{ x + y|string }}{% endmacro %}{% macro g(z) %}{{ f(z, y=2) }}{{ caller() }}{% endmacro %}{% call g('a') %}b{% endcall %}`,
		`{% set ns = namespace(found=false, text='') %}{% for m in messages %}{% set ns.text = ns.text + m.content %}{% set ns.found = true %}{% endfor %}{{ ns.text }}`,
		`{% for k, v in tools.items() %}{% for one in v.list %}{{ one.name|upper }}{{ {'items': [k, one]}|tojson }}{% endfor %}{% endfor %}`,
		`{% set parts = [] %}{% for m in messages %}{% set parts = parts + [m.content.split('x')[0]] %}{% endfor %}{{ parts|join(', ') }}`,
	} {
		check := func() error {
			b := limits.Policy{}.Budget(t.Context())
			defer b.Close()
			_, err := jinja.Check(b, template)
			return err
		}
		total := 0
		limitstest.Refuse(t, func(string, int64) bool { total++; return false })
		if err := check(); err != nil || total < 5 {
			t.Fatal(template, total, err)
		}
		for refused := range total {
			n := 0
			limitstest.Refuse(t, func(string, int64) bool { n++; return n == refused+1 })
			if err := check(); !errors.Is(err, limits.ErrLimit) {
				t.Errorf("charge %d of %d is refused: %v: %s", refused+1, total, err, template)
			}
		}
	}
}
