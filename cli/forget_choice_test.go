package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
)

// The output reports where the rules could not be followed: types whose blocks do not divide the
// columns, and weights that the importance matrix lacks. A budget does not give those a type that
// needs the matrix.
func TestTypesThatDifferFromTheRulesAreReported(t *testing.T) {
	dir := t.TempDir()
	file := func(name, data string) string {
		path := filepath.Join(dir, name)
		write(t, path, data)
		return path
	}
	names := []string{"token_embd.weight", "output.weight", "blk.0.attn_q.weight", "blk.0.ffn_up.weight"}
	model := file("model.gguf", ggufOf(t, "llama", 256, names...))
	odd := file("odd.gguf", ggufOf(t, "llama", 288, names...))
	matrix := file("matrix.dat", string(fixtures.LegacyMatrix(256, 2, names[2:]...)))
	for _, c := range []struct {
		name, args string
		texts      []string
	}{
		{"blocks that do not fit", "--to q4_k_m --dry-run " + odd, []string{"Fallback:    3 weights whose columns", "Q5_0", "(for Q4_K)"}},
		{"the same as JSON", "--to q4_k_m --dry-run --json " + odd, []string{`"type":"Q5_0"`, `"instead_of":"Q4_K"`}},
		{"blocks that fit", "--to q4_k_m --dry-run " + model, []string{"!Fallback", "!Unweighed", "!(for "}},
		{"a matrix of some weights", "--to q4_k_m --dry-run --imatrix " + matrix + " " + model, []string{"Unweighed:   2 weights that the importance matrix does not have: output.weight and 1 more"}},
		{"the same as JSON", "--to q4_k_m --dry-run --json --imatrix " + matrix + " " + model, []string{`"unweighed":true`}},
		{"a budget with types that want a matrix", "--budget 3.5bpw --types iq2_xs,q4_k --dry-run --imatrix " + matrix + " " + model, []string{"IQ2_XS (2, ", "Q4_K (2, "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := amn(t, nil, append([]string{"forget", "-o", filepath.Join(dir, "new.gguf")}, strings.Fields(c.args)...)...)
			if r.code != 0 {
				t.Fatal(r)
			}
			for _, text := range c.texts {
				plain, absent := strings.CutPrefix(text, "!")
				if strings.Contains(r.out, plain) == absent {
					t.Errorf("%q in %s", text, r.out)
				}
			}
		})
	}
}
