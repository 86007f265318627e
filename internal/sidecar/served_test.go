package sidecar

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// What crosscheck/sinks/served.py found has a row in the table, and the gate says which library it is,
// and of which version, in each form of text that has members.
func TestEachMemberOfServersIsJudged(t *testing.T) {
	file, err := os.Open("../../crosscheck/sinks/served.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := 0
	for in := bufio.NewScanner(file); in.Scan(); lines++ {
		var row struct{ Library, Version, Member string }
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		member := strings.Trim(strings.ToLower(row.Member), "_")
		for name, text := range map[string]string{
			"serve.yaml": strings.ReplaceAll(member, "_", "-") + ": evil.mod.Name\n", "nested.yaml": "a:\n  b:\n  - " + member + ": evil.mod.Name\n",
			"serve.json": `{"a": [{"` + member + `": "evil.mod.Name"}]}`, "serve.toml": "[a]\n" + member + " = \"evil.mod.Name\"\n",
		} {
			b := limits.Policy{}.Budget(t.Context())
			found, err := Check(b, Text{Name: name, R: strings.NewReader(text), Size: int64(len(text))})
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, f := range found {
				if f.Severity == tensor.Danger {
					said += f.Text + "\n"
				}
			}
			if !strings.Contains(said, row.Library+" "+row.Version) {
				t.Errorf("%s %s: %q says %q", row.Library, row.Member, text, said)
			}
			b.Close()
		}
	}
	if lines < 20 {
		t.Errorf("%d members", lines)
	}
}
