package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	runsCode    = "cos\nsystem\n(S'id'\ntR."
	runsOther   = "cos\nsystem\n(S'ls'\ntR."
	emptyTensor = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
)

// A baseline knows content, not names.
func TestABaselineIdentifiesFilesByContent(t *testing.T) {
	dir, known := t.TempDir(), filepath.Join(t.TempDir(), "known.json")
	write(t, filepath.Join(dir, "a.pkl"), runsCode)
	write(t, filepath.Join(dir, "m.safetensors"), emptyTensor)
	if r := amn(t, nil, "scan", "--output", "baseline="+known, dir); r.code != 7 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	steps := []struct {
		what, name, data string
		code             int
	}{
		{"what is known does not fail", "m.safetensors", emptyTensor, 0},
		{"nor does it by another name", "b/c.pkl", runsCode, 0},
		{"another content by the same name is new", "a.pkl", runsOther, 7},
		{"and so is a file beside", "a.pkl", runsCode, 0},
		{"even one that is truncated", "d.safetensors", emptyTensor[:9], 4},
	}
	for _, s := range steps {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, s.name)), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, s.name), s.data)
		if r := amn(t, nil, "scan", "--baseline", known, dir); r.code != s.code {
			t.Errorf("%s: exit %d\n%s%s", s.what, r.code, r.out, r.err)
		}
	}
	for _, text := range []string{"{}", `{"schema":"amn.baseline/1","files":[{"path":"a","sha256":"00","rules":["pickle.global"]}]}`, "[]", `{"schema":"amn.baseline/1","files":[]} x`,
		`{"schema":"amn.baseline/1","files":[{"path":"a","sha256":"` + strings.Repeat("0", 64) + `","rules":["no.such"]}]}`} {
		write(t, known, text)
		if r := amn(t, nil, "scan", "--baseline", known, dir); r.code != 2 {
			t.Errorf("%s: exit %d", text, r.code)
		}
	}
}

// A baseline that is being read is never the report that is written.
func TestABaselineIsNotOverwritten(t *testing.T) {
	known := filepath.Join(t.TempDir(), "known.json")
	write(t, known, `{"schema":"amn.baseline/1","files":[]}`)
	if r := amn(t, nil, "scan", "--baseline", known, "--output", "baseline="+known, t.TempDir()); r.code != 2 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

func TestExcludePatternsSkipFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"tests/data/evil.pkl", "tests/evil.pkl", "m.safetensors"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		data := runsCode
		if strings.HasPrefix(name, "m.") {
			data = emptyTensor
		}
		write(t, filepath.Join(dir, name), data)
	}
	for _, c := range []struct {
		patterns []string
		code     int
	}{
		{nil, 7}, {[]string{"tests"}, 0}, {[]string{"evil.pkl"}, 0}, {[]string{"*.pkl"}, 0}, {[]string{"tests/data"}, 7},
		{[]string{"tests/data", "tests/*.pkl"}, 0}, {[]string{"**/evil.pkl"}, 0}, {[]string{"test"}, 7}, {[]string{"[x"}, 2},
	} {
		args := []string{"scan"}
		for _, p := range c.patterns {
			args = append(args, "--exclude", p)
		}
		if r := amn(t, nil, append(args, dir)...); r.code != c.code {
			t.Errorf("%q: exit %d\n%s%s", c.patterns, r.code, r.out, r.err)
		}
	}
	if r := amn(t, nil, "scan", "--exclude", "*.pkl", filepath.Join(dir, "tests/evil.pkl")); r.code != 7 {
		t.Errorf("a file that is named is judged: exit %d", r.code)
	}
}

func TestAListOfFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "m.safetensors", emptyTensor)
	write(t, "README.md", "# A model\n")
	write(t, "a b.pkl", runsCode)
	write(t, "-", runsCode)
	for _, c := range []struct {
		what, list string
		code       int
		says       string
	}{
		{"models and what lies beside them", "m.safetensors\nREADME.md\n", 0, "skipped"},
		{"what is not a model alone", "README.md\n", 0, ""},
		{"with a carriage return", "m.safetensors\r\nREADME.md\r\n", 0, ""},
		{"with zero bytes", "m.safetensors\x00a b.pkl\x00", 7, "a b.pkl"},
		{"a file named -", "-\n", 7, ""},
		{"one that is not there", "absent\n", 2, ""},
		{"an empty list", "", 5, ""},
	} {
		r := amn(t, strings.NewReader(c.list), "scan", "--files-from", "-")
		if r.code != c.code || !strings.Contains(r.out, c.says) {
			t.Errorf("%s: exit %d\n%s%s", c.what, r.code, r.out, r.err)
		}
	}
	write(t, "list.txt", "README.md\nconfig.json\n")
	write(t, "config.json", "{}")
	if r := amn(t, nil, "scan", "--files-from", "list.txt"); r.code != 0 || !strings.Contains(r.err, "no model among 2 files") {
		t.Errorf("texts alone: exit %d: %s", r.code, r.err)
	}
	write(t, "list.txt", "a b.pkl\n")
	if r := amn(t, nil, "scan", "--files-from", "list.txt"); r.code != 7 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	for _, args := range [][]string{{"scan"}, {"scan", "--files-from", "-", "m.safetensors"}} {
		if r := amn(t, nil, args...); r.code != 2 {
			t.Errorf("%q: exit %d", args, r.code)
		}
	}
}

// Reports go to files, several at once, and the text stays.
func TestSeveralReportsAtOnce(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "a.pkl"), runsCode)
	args, list := []string{"scan"}, []string{"json", "sarif", "junit", "html", "markdown", "github", "baseline"}
	for _, f := range list {
		args = append(args, "--output", f+"="+filepath.Join(out, f))
	}
	r := amn(t, nil, append(args, dir)...)
	if r.code != 7 || !strings.Contains(r.out, "forbidden") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	for _, f := range list {
		text, err := os.ReadFile(filepath.Join(out, f))
		if err != nil || !strings.Contains(string(text), "pickle.global") && f != "json" {
			t.Errorf("%s: %v, %s", f, err, text)
		}
		if f == "json" {
			valid(t, "scan", string(text))
		}
	}
}

// Files for which no time was left are refused in every report.
func TestTheTimeLimitCoversAllFiles(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "scan.sarif")
	for _, name := range []string{"a", "b", "c"} {
		write(t, filepath.Join(dir, name+".safetensors"), emptyTensor)
	}
	r := amn(t, nil, "scan", "--total-timeout", "1ns", "--output", "sarif="+out, dir, filepath.Join(dir, "b.safetensors"))
	text, err := os.ReadFile(out)
	if r.code != 6 || err != nil || strings.Count(string(text), `"ruleId":"limit.time"`) != 2 || !strings.Contains(r.out+r.err, "--total-timeout raises it") {
		t.Errorf("exit %d: %s%s%s", r.code, r.out, r.err, text)
	}
	if r := amn(t, nil, "scan", "--total-timeout", "1h", dir); r.code != 0 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := amn(t, nil, "scan", "--total-timeout", "soon", dir); r.code != 2 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// A list of files is bounded; the same names in parts are read.
func TestAListOfFilesIsBounded(t *testing.T) {
	t.Chdir(workplace(t))
	list := "model.safetensors\n" + strings.Repeat("\n", 64<<20)
	if r := amn(t, strings.NewReader(list), "scan", "--files-from", "-"); r.code != 2 || !strings.Contains(r.err, "--files-from -: more than 64MiB: give the names in parts") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	if r := amn(t, strings.NewReader(list[:64<<20]), "scan", "--files-from", "-"); r.code != 0 || !strings.Contains(r.out, "model.safetensors") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
}
