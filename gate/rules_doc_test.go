package gate_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

var update = flag.Bool("update", false, "write docs/rules")

// An example is a file of the corpus that a rule refuses or is found in.
type examples map[string][]string

// withoutRecipe is how many refusals no file of the corpus shows: those that several
// files make together, such as the shards of a model, and those that this package's
// other tests show. It only shrinks.
const withoutRecipe = 106

// maxExamples is how many a page names of each rule.
const maxExamples = 3

func (e examples) add(rule, name string) {
	if list := e[rule]; len(list) < maxExamples && !slices.Contains(list, name) {
		e[rule] = append(list, name)
	}
}

// judged are the rules by which the gate judges the files of the corpus.
func judged(t *testing.T) examples {
	e := examples{}
	one := func(name string, data []byte, h gate.Hint, p gate.Policy) {
		v, _ := check(t, gate.Gate{Policy: p}, string(data), h)
		for _, r := range v.Refusals() {
			e.add(r.Rule, name)
			if row, _ := gate.RuleOf(r.Rule); row.Kind == "group" {
				t.Errorf("%s: refused by %s, which says no more than the kind: %s", name, r.Rule, r.Text)
			}
		}
		for _, f := range v.Findings {
			e.add(f.Code, name)
			row, ok := gate.RuleOf(f.Code)
			if !ok || f.Severity > row.Severity {
				t.Errorf("%s: finding %s of severity %v, and the table says %v", name, f.Code, f.Severity, row.Severity)
			}
		}
	}
	for _, format := range []string{"detect", "gguf", "npy", "npz", "pickle", "pth", "safetensors", "zip", "wrap", "onnx"} {
		for _, r := range corpus.Hostile(format) {
			p := gate.Policy{}
			if r.Policy != nil {
				var err error
				if p.Limits, err = limits.ParsePolicy(r.Policy); err != nil {
					t.Fatal(r.Name, err)
				}
			}
			h := gate.Hint{Name: "file." + map[string]string{"pickle": "pkl", "zip": "pt", "detect": "bin", "wrap": "data"}[format]}
			if h.Name == "file." {
				h.Name += format
			}
			data := r.Bytes()
			if len(data) < 1<<20 {
				one("corpus/hostile/"+format+"/"+r.Name+".txt", data, h, p)
			}
			if format == "zip" && len(data) < 1<<20 { // as an archive around models: a checkpoint's own rules come first
				one("corpus/hostile/"+format+"/"+r.Name+".txt", data, gate.Hint{Name: "file.data"}, p)
			}
		}
		for _, s := range corpus.Valid(format) {
			if s.Recipe == nil || s.Recipe.Policy == nil {
				one("corpus/valid/"+format+"/"+s.Name, s.Data, gate.Hint{Name: "file." + format}, gate.Policy{FailOn: gate.FailNever})
			}
		}
	}
	for _, format := range []string{"gguf", "pth", "npy", "safetensors"} {
		one("a name that promises another format", []byte(empty), gate.Hint{Name: "file." + format}, gate.Policy{})
	}
	return e
}

// docs/rules has a page for each group of rules, with each rule on it: written by
// go test ./gate -run Pages -update.
func TestRulesHaveTheirPages(t *testing.T) {
	e := judged(t)
	pages := map[string]*bytes.Buffer{}
	var order []string
	groups := map[string]string{}
	for _, r := range gate.Rules() {
		group, _, _ := strings.Cut(r.ID, ".")
		p, ok := pages[group]
		if !ok {
			p = bytes.NewBufferString("# Rules of " + group + "\n\nWritten from the tables in `gate/rules_*.go`; `amn rules` prints them. Policies, exceptions and reports name rules by these identifiers.\n")
			pages[group], order = p, append(order, group)
		}
		if r.Title == "" || r.Advice == "" || !strings.HasPrefix(r.Page(), "docs/rules/"+group+".md#") {
			t.Errorf("%+v", r)
		}
		if r.Kind == "group" {
			groups[group] += fmt.Sprintf("| `%s` | %s |\n", r.ID, r.Title)
			continue
		}
		fmt.Fprintf(p, "\n## %s\n\n%s, %v. %s %s\n", r.ID, strings.ToUpper(r.Kind[:1])+r.Kind[1:], r.Severity, r.Title, r.Advice)
		if list := e[r.ID]; len(list) > 0 {
			p.WriteString("\nSeen in:\n\n")
			for _, name := range list {
				p.WriteString("- `" + name + "`\n")
			}
		}
	}
	for group, rows := range groups {
		pages[group].WriteString("\n## Groups\n\nA policy may name the refusals of one kind together:\n\n| group | what is wrong |\n|---|---|\n" + rows)
	}
	index := bytes.NewBufferString("# Rules\n\nEach refusal and each finding names a rule. `amn rules` lists all, `amn rules --json` for programs.\n\n| group | rules |\n|---|---|\n")
	for _, group := range order {
		fmt.Fprintf(index, "| [%s](%s.md) | %d |\n", group, group, strings.Count(pages[group].String(), "\n## "+group+"."))
	}
	pages["README"] = index
	for rule := range e {
		if !gate.IsRule(rule) {
			t.Errorf("%s is no rule", rule)
		}
	}
	without := 0
	for _, r := range gate.Rules() {
		if r.Kind == "refusal" && len(e[r.ID]) == 0 && !strings.HasSuffix(r.ID, ".internal") {
			without++
		}
	}
	if without > withoutRecipe {
		t.Errorf("%d refusals have no recipe, %d had none: a new rule comes with one", without, withoutRecipe)
	}
	there, err := filepath.Glob("../docs/rules/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range there {
		if pages[strings.TrimSuffix(filepath.Base(path), ".md")] == nil {
			t.Errorf("%s is the page of no rule", path)
		}
	}
	for group, text := range pages {
		path := filepath.Join("../docs/rules", group+".md")
		if *update {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, text.Bytes(), 0o666)); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, text.Bytes()) {
			t.Errorf("%s is not what the table says (go test ./gate -run Pages -update): %v", path, err)
		}
	}
}

// Every finding that a parser may give has a row of its own.
func TestEveryFindingHasARow(t *testing.T) {
	for _, code := range limits.Findings() {
		if r, ok := gate.RuleOf(code); !ok || strings.HasPrefix(r.Title, "A finding of the format") {
			t.Errorf("%s: %+v", code, r)
		}
	}
}
