package gate_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
)

// A value of a form is known by the hint alone: a name that says so is that of a file.
func TestOnlyTheHintSaysThatATextIsAField(t *testing.T) {
	const text = "name: `touch x`\n"
	for _, tc := range []struct {
		hint     gate.Hint
		accepted bool
	}{
		{gate.Hint{Name: "notes (field)", Beside: true, Field: true}, true},
		{gate.Hint{Name: "notes", Beside: true, Field: true}, true},
		{gate.Hint{Name: "notes (field)", Beside: true}, false},
		{gate.Hint{Name: "notes.yaml (field)", Beside: true}, false},
		{gate.Hint{Name: "notes", Beside: true}, false},
	} {
		if v, said := check(t, gate.Gate{}, text, tc.hint); v.Accepted() != tc.accepted || v.OfField() != tc.hint.Field {
			t.Errorf("%+v: accepted %v, of a field %v: %s", tc.hint, v.Accepted(), v.OfField(), said)
		}
	}
}
