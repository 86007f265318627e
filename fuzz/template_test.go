package fuzz_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/jinja"
	"github.com/anamnesis-go/anamnesis/limits"
)

// FuzzTemplate tests that the check of chat templates ends, stays bounded, and reports
// offsets in the text.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		"{{ a }}", "{% raw %}x{% endraw %}", `{{ "\x5f" }}`, "{# #}", "{%- if x -%}", "{{{'a':1}}}", "{% raw", "{{ '\\",
		"{% for m in messages %}{{ m['role'] }}{% endfor %}", `{{ x["\N{LOW LINE}"] }}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		issues, err := jinja.Check(b, s)
		if err != nil {
			t.Fatal(err)
		}
		if len(issues) > jinja.MaxIssues {
			t.Fatalf("%d issues", len(issues))
		}
		for _, i := range issues {
			if i.Off < 0 || i.Off > len(s) || i.Code == "" || i.Text == "" {
				t.Fatalf("%+v in %d bytes", i, len(s))
			}
		}
	})
}
