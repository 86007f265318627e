package corpus

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"testing"
)

func TestEveryRecipeParsesAndBuilds(t *testing.T) {
	for _, format := range Formats() {
		list, err := hostileRecipes(format)
		if err != nil {
			t.Error(err)
		}
		seen := map[string]string{}
		for _, r := range list {
			data, err := r.Build()
			if err != nil {
				t.Error(err)
				continue
			}
			if r.Offset > int64(len(data)) {
				t.Errorf("%s: offset %#x of a file of %d bytes", r.Path(), r.Offset, len(data))
			}
			if len(r.Comment) < 20 {
				t.Errorf("%s: the comment says too little", r.Path())
			}
			key := fmt.Sprintf("%x %s %s", sha256.Sum256(data), r.Policy, r.Depth)
			if other, twice := seen[key]; twice {
				t.Errorf("%s and %s are the same file", r.Path(), other)
			}
			seen[key] = r.Path()
		}
		if _, err := validSeeds(format); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryRecipeOfTheGateBuilds(t *testing.T) {
	list, err := gateRecipes()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if _, err := r.Build(); err != nil || len(r.Comment) < 20 {
			t.Errorf("%s: %v; comment %q", r.Path(), err, r.Comment)
		}
	}
}

// A table says what it holds, and its cases have names and files of their own.
func TestTablesOfQuantizedModels(t *testing.T) {
	list, err := quantCases()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range list {
		name := c.Table + ": " + c.Name
		if seen[name] || len(c.Name) < 5 {
			t.Errorf("%s: a name that is short, or given twice", name)
		}
		key := fmt.Sprint(c.Open, c.Options)
		for _, file := range c.Names() {
			key += fmt.Sprintf(" %s %x", file, sha256.Sum256(c.Files[file].Data))
		}
		if seen[key] {
			t.Errorf("%s: another case has the same files", name)
		}
		seen[name], seen[key] = true, true
	}
	if len(list) < 200 {
		t.Errorf("%d cases", len(list))
	}
}

func TestTablesThatAreWrongAreRefused(t *testing.T) {
	for what, src := range map[string]string{
		"no comment":             "case: a\ntensors: m I8 2\nrefused: malformed range\n",
		"no class":               "# A table.\n\ncase: a\ntensors: m I8 2\nrefused: wrong range\n",
		"no line refused:":       "# A table.\n\ncase: a\ntensors: m I8 2\n",
		"no model":               "# A table.\n\ncase: a\nconfig: {}\nrefused: malformed range\n",
		"an unknown type":        "# A table.\n\ncase: a\ntensors: m I7 2\nrefused: malformed range\n",
		"bytes of another count": "# A table.\n\ncase: a\ntensors: m I8 2 { u8 1 }\nrefused: malformed range\n",
		"an unknown list":        "# A table.\n\ncase: a\ntensors: $m\nrefused: malformed range\n",
		"an unknown key":         "# A table.\n\ncase: a\ntensor: m I8 2\nrefused: malformed range\n",
		"a file that is twice":   "# A table.\n\ncase: a\nconfig: {}\nconfig: {}\nrefused: malformed range\n",
	} {
		if list, err := parseTable("t", src); err == nil {
			t.Errorf("%s: accepted, %v", what, list)
		}
	}
}

func TestBuildingTwiceGivesTheSameFile(t *testing.T) {
	for _, format := range Formats() {
		for _, r := range Hostile(format) {
			first := sha256.Sum256(r.Bytes())
			if sha256.Sum256(r.Bytes()) != first {
				t.Errorf("%s differs from build to build", r.Path())
			}
		}
	}
}

// A file that a library wrote can be written again: the script is in the same folder, with the
// versions.
func TestFilesOfLibrariesHaveTheirScript(t *testing.T) {
	for _, format := range Formats() {
		binary := false
		for _, s := range Valid(format) {
			binary = binary || s.Recipe == nil
		}
		script, err := files.ReadFile("valid/" + format + "/generate.py")
		if binary && (err != nil || !regexp.MustCompile(`[0-9]+\.[0-9]+`).Match(script)) {
			t.Errorf("corpus/valid/%s: no generate.py that names versions: %v", format, err)
		}
	}
}
