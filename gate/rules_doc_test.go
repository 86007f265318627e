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
	for _, format := range []string{"dcp", "deepspeed", "detect", "ggml", "gguf", "hdf5", "keras", "npy", "npz", "pickle", "pth", "safetensors", "zip", "wrap", "onnx", "tfbundle", "tflite"} {
		for _, r := range corpus.Hostile(format) {
			p := gate.Policy{}
			if r.Policy != nil {
				var err error
				if p.Limits, err = limits.ParsePolicy(r.Policy); err != nil {
					t.Fatal(r.Name, err)
				}
			}
			h := gate.Hint{Name: "file." + map[string]string{"pickle": "pkl", "zip": "pt", "detect": "bin", "wrap": "data", "dcp": "zip", "deepspeed": "zip", "tfbundle": "zip"}[format]}
			if h.Name == "file." {
				h.Name += format
			}
			data := r.Bytes()
			if len(data) < 1<<20 {
				one("`"+r.Path()+"`", data, h, p)
			}
			if format == "zip" && len(data) < 1<<20 { // as an archive around models: a checkpoint's own rules come first
				one("`"+r.Path()+"`", data, gate.Hint{Name: "file.data"}, p)
			}
		}
		for _, s := range corpus.Valid(format) {
			p := gate.Policy{FailOn: gate.FailNever}
			if s.Recipe != nil && s.Recipe.Policy != nil {
				var err error
				if p.Limits, err = limits.ParsePolicy(s.Recipe.Policy); err != nil {
					t.Fatal(s.Name, err)
				}
			}
			one("`corpus/valid/"+format+"/"+s.Name+"`", s.Data, gate.Hint{Name: "file." + format}, p)
		}
	}
	for _, format := range []string{"gguf", "pth", "npy", "safetensors"} {
		one("a name that promises another format", []byte(empty), gate.Hint{Name: "file." + format}, gate.Policy{})
	}
	return e
}

// seen says what the pages mean by where a rule is seen.
const seen = `The page of a rule says where the rule is seen: in recipes of corpus/, which are texts that build a file, or in small files of libraries (corpus/README.md).

| seen in | what that means | checked by |
|---|---|---|
| corpus/gate | this rule refuses the file, and no other rule does | TestRecipesOfTheGate |
| corpus/hostile, corpus/valid | the rule is one of those in the verdict | TestRulesHaveTheirPages |
| a reader by itself | the reader of that package refuses the file by this rule; the gate refuses it earlier, by another rule | TestRulesHaveTheirPages |
| a situation | the bytes of a file alone do not lead to the rule | TestRulesOfSituations |
| no file | the page says why, and which rule comes first | TestReasonsNameRecipes |
`

// shownBy is what shows each rule, and the words for it on its page.
func shownBy(t *testing.T) (e examples, shown func(rule string) string) {
	e = judged(t)
	e.shrinking(t)
	for _, r := range corpus.Gate() {
		rules, _ := rulesOf(t, r)
		for _, rule := range rules {
			e[rule] = slices.Insert(e[rule], 0, "`"+r.Path()+"`")
		}
	}
	alone := e.byReaders(t)
	for rule, s := range situations {
		e.add(rule, s.what)
	}
	return e, func(rule string) string {
		list := e[rule]
		switch {
		case unreached[rule] != "":
			return "\nSeen in no file. " + unreached[rule] + "\n"
		case len(list) == 0:
			return ""
		}
		text := "\nSeen in:\n\n"
		for _, name := range list[:min(len(list), maxExamples)] {
			text += "- " + name
			if format := alone[rule]; format != "" {
				text += ", by the reader of " + format + " by itself"
			}
			text += "\n"
		}
		return text
	}
}

// The longest example: a recipe that a reader sees at a glance.
const maxExampleLines, maxExampleWidth = 24, 160

// inBytes returns the text of the first small recipe of a list: what the file is, and its bytes.
func inBytes(t *testing.T, list []string) string {
	for _, name := range list {
		path := strings.Trim(name, "`")
		if !strings.HasPrefix(path, "corpus/") || !strings.HasSuffix(path, ".txt") {
			continue
		}
		text, err := os.ReadFile("../" + path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(lines) > maxExampleLines || slices.ContainsFunc(lines, func(l string) bool { return len(l) > maxExampleWidth }) {
			continue
		}
		return "\nThe first of them, in bytes (`" + path + "`):\n\n```text\n" + strings.Join(lines, "\n") + "\n```\n"
	}
	return ""
}

// docs/rules has a page for each group of rules, with each rule on it: written by
// go test ./gate -run Pages -update.
func TestRulesHaveTheirPages(t *testing.T) {
	e, shown := shownBy(t)
	pages := map[string]*bytes.Buffer{}
	var order []string
	groups := map[string]string{}
	for _, r := range gate.Rules() {
		group, _, _ := strings.Cut(r.ID, ".")
		p, ok := pages[group]
		if !ok {
			p = bytes.NewBufferString("# Rules of " + group + "\n\nThis page is written from the tables in `gate/rules_*.go`, which `amn rules` prints. Policies, exceptions and reports use these identifiers.\n")
			pages[group], order = p, append(order, group)
		}
		if r.Title == "" || r.Advice == "" || !strings.HasPrefix(r.Page(), "docs/rules/"+group+".md#") {
			t.Errorf("%+v", r)
		}
		if r.Kind == "group" {
			groups[group] += fmt.Sprintf("| `%s` | %s |\n", r.ID, r.Title)
			continue
		}
		fmt.Fprintf(p, "\n## %s\n\n%s, %v. %s\n\n| | |\n|---|---|\n| why it matters | %s |\n| to mend the file | %s |\n", r.ID, strings.ToUpper(r.Kind[:1])+r.Kind[1:], r.Severity, r.Title, r.Why, r.Advice)
		text, member := r.Allow()
		if member != "" {
			text += " `" + member + "`"
		}
		fmt.Fprintf(p, "| to allow it | %s |\n", text)
		var by []string
		for _, l := range r.Loaders() {
			by = append(by, l.String())
		}
		if len(by) > 0 {
			fmt.Fprintf(p, "| obeyed by | %s |\n", strings.Join(by, "; "))
		}
		p.WriteString(shown(r.ID))
		p.WriteString(inBytes(t, e[r.ID]))
	}
	for group, rows := range groups {
		pages[group].WriteString("\n## Groups\n\nWith these names, a policy addresses all refusals of one kind:\n\n| group | what is wrong |\n|---|---|\n" + rows)
	}
	index := bytes.NewBufferString("# Rules\n\nEvery refusal and every finding names a rule. `amn rules` lists them all, and `amn rules --json` does so for programs.\n\n" + seen + "\n| group | rules |\n|---|---|\n")
	for _, group := range order {
		fmt.Fprintf(index, "| [%s](%s.md) | %d |\n", group, group, strings.Count(pages[group].String(), "\n## "+group+"."))
	}
	pages["README"] = index
	for rule := range e {
		if !gate.IsRule(rule) {
			t.Errorf("%s is not a rule", rule)
		}
	}
	for _, r := range gate.Rules() {
		switch why := unreached[r.ID]; {
		case r.Kind == "group" || strings.HasSuffix(r.ID, ".internal"):
		case len(e[r.ID]) == 0 && why == "":
			t.Errorf("%s has no recipe: a new rule comes with one in corpus/", r.ID)
		case len(e[r.ID]) > 0 && why != "":
			t.Errorf("%s is said to be reached by nothing, and is by %q", r.ID, e[r.ID])
		}
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
