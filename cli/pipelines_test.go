//go:build unix

package cli_test

import (
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/effort"
)

// block returns the text of "key: |" of a YAML file: the lines indented below it. nth
// counts them from 0.
func block(t *testing.T, yaml, key string, nth int) string {
	t.Helper()
	lines := strings.Split(yaml, "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) != key+": |" {
			continue
		}
		if nth--; nth >= 0 {
			continue
		}
		depth := len(line) - len(strings.TrimLeft(line, " ")) + 2
		var out strings.Builder
		for _, l := range lines[i+1:] {
			if l != "" && !strings.HasPrefix(l, strings.Repeat(" ", depth)) {
				break
			}
			out.WriteString(strings.TrimPrefix(l, strings.Repeat(" ", depth)) + "\n")
		}
		return out.String()
	}
	t.Fatalf("no %s", key)
	return ""
}

// item returns the commands that a list of a YAML file has, in one line each.
func item(t *testing.T, yaml, key string) string {
	t.Helper()
	_, rest, ok := strings.Cut(yaml, "\n  "+key+":\n    - ")
	if !ok {
		t.Fatalf("no %s", key)
	}
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// shell runs a script as GitHub's runners do.
func shell(t *testing.T, dir, script string, env ...string) (string, int) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// The action builds the program, says what is wrong as annotations, and leaves a
// report and a summary.
func TestTheActionForGitHub(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	yaml, temp, place := load(t, "../action.yml"), t.TempDir(), t.TempDir()
	build, env := block(t, yaml, "run", 0), []string{"SOURCE=" + root, "RUNNER_TEMP=" + temp, "CGO_ENABLED=0"}
	if !effort.Whole() { // under other flags all packages are compiled again, for minutes
		build, env = strings.Replace(build, " -trimpath", "", 1), env[:2]
	}
	if out, code := shell(t, place, build, env...); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	write(t, filepath.Join(place, "models/a b.pkl"), runsCode)
	write(t, filepath.Join(place, "models/m.safetensors"), emptyTensor)
	for _, c := range []struct {
		what, paths, exclude, limits string
		code                         int
	}{
		{"everything", ".", "", "", 7},
		{"some paths", "models/m.safetensors\n", "", "strict", 0},
		{"without a pattern", ".", "*.pkl\n", "", 0},
		{"what a shell would run", "$(touch ran)", "`touch ran`", "", 2},
	} {
		output, summary := filepath.Join(temp, "output"), filepath.Join(temp, "summary")
		write(t, output, "")
		write(t, summary, "")
		out, code := shell(t, place, block(t, yaml, "run", 1), "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+output, "GITHUB_STEP_SUMMARY="+summary,
			"PATHS="+c.paths, "EXCLUDE="+c.exclude, "LIMITS="+c.limits, "FAIL_ON=", "BASELINE=", "SARIF=")
		sarif, ok := strings.CutPrefix(strings.TrimSuffix(load(t, output), "\n"), "sarif="+temp)
		if code != c.code || c.code == 7 && !strings.Contains(out, "::error file=models/a b.pkl,line=1,") || !ok ||
			!strings.HasPrefix(load(t, summary), "| file |") || !strings.Contains(load(t, temp+sarif), `"version":"2.1.0"`) {
			t.Errorf("%s: exit %d\n%s%s%s", c.what, code, out, load(t, output), load(t, summary))
		}
	}
	if _, err := os.Stat(filepath.Join(place, "ran")); err == nil {
		t.Error("an input was run")
	}
	if got := files(t, place); strings.Count(got, place) != 2 {
		t.Errorf("the checkout has more files than before:\n%s", got)
	}
}

// Every input of the action reaches its script, and only through the environment.
func TestTheActionPassesInputsThroughTheEnvironment(t *testing.T) {
	yaml := load(t, "../action.yml")
	_, runs, _ := strings.Cut(yaml, "\nruns:")
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z-]+):\n    description`).FindAllStringSubmatch(yaml[:strings.Index(yaml, "\noutputs:")], -1) {
		name := strings.ToUpper(strings.ReplaceAll(m[1], "-", "_"))
		if !strings.Contains(runs, name+": ${{ inputs."+m[1]+" }}") || !strings.Contains(block(t, yaml, "run", 1), "$"+name+"\"") {
			t.Errorf("the input %s is not used", m[1])
		}
	}
	for n := range 2 {
		if strings.Contains(block(t, yaml, "run", n), "${{") {
			t.Error("an expression in a script: what it holds would be run")
		}
	}
}

// The hook judges what is staged, whatever it is.
func TestTheHookOfPreCommit(t *testing.T) {
	yaml, bin, dir := load(t, "../.pre-commit-hooks.yaml"), built(t), t.TempDir()
	entry := regexp.MustCompile(`(?m)^  entry: (.*)$`).FindStringSubmatch(yaml)
	write(t, filepath.Join(dir, "README.md"), "# A model\n")
	write(t, filepath.Join(dir, "m.safetensors"), emptyTensor)
	write(t, filepath.Join(dir, "weights.dat"), runsCode)
	for files, want := range map[string]int{"README.md": 0, "m.safetensors README.md": 0, "weights.dat README.md": 7} {
		if out, code := shell(t, dir, entry[1]+" "+files, "PATH="+bin+":"+os.Getenv("PATH")); code != want {
			t.Errorf("%s: exit %d\n%s", files, code, out)
		}
	}
}

// yamlBlock returns the text of "- |" in a list of a YAML file.
func yamlBlock(t *testing.T, yaml, key string) string {
	t.Helper()
	_, rest, ok := strings.Cut(yaml, "\n  "+key+":")
	_, rest, also := strings.Cut(rest, "\n    - |\n")
	text, _, more := strings.Cut(rest, "\n  artifacts:")
	if !ok || !also || !more {
		t.Fatalf("no %s", key)
	}
	return text
}

// The job leaves what GitLab takes as reports of tests and of code quality.
func TestTheJobForGitLab(t *testing.T) {
	yaml, bin, dir := load(t, "../deploy/gitlab-ci.yml"), built(t), t.TempDir()
	write(t, filepath.Join(dir, "models/a.pkl"), runsCode)
	other := t.TempDir()
	if err := os.Symlink(other, filepath.Join(dir, "amn-reports")); err != nil {
		t.Fatal(err)
	}
	out, code := shell(t, dir, item(t, yaml, "before_script")+"\n"+yamlBlock(t, yaml, "script"), "PATH="+bin+":"+os.Getenv("PATH"), "AMN_VERSION=latest", "AMN_ARGS=", "AMN_PATHS=models")
	if code != 7 {
		t.Errorf("exit %d\n%s", code, out)
	}
	for _, m := range regexp.MustCompile(`(?m)^      [a-z]+: (amn-\S+)$|paths: \[(.*)\]`).FindAllStringSubmatch(yaml, -1) {
		load(t, filepath.Join(dir, m[1]+m[2]))
	}
	if list, err := os.ReadDir(other); err != nil || len(list) > 0 {
		t.Errorf("the reports went through a link: %v, %v", list, err)
	}
	var issues []struct {
		Description, Fingerprint, Severity string
		CheckName                          string `json:"check_name"`
		Location                           struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	if err := json.Unmarshal([]byte(load(t, filepath.Join(dir, "amn-reports/amn-quality.json"))), &issues); err != nil || len(issues) == 0 {
		t.Fatalf("%v, %v", err, issues)
	}
	for _, i := range issues {
		if i.Description == "" || len(i.Fingerprint) != 32 || i.Severity != "critical" || i.CheckName == "" || i.Location.Path != "models/a.pkl" || i.Location.Lines.Begin != 1 {
			t.Errorf("%+v", i)
		}
	}
}

// The image has a program that needs nothing else, and runs as the user nobody.
func TestTheImageNeedsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	if runtime.GOOS != "linux" {
		t.Skip("an image is Linux'")
	}
	text, dir := load(t, "../deploy/Containerfile"), t.TempDir()
	last := text[strings.LastIndex(text, "\nFROM "):]
	if !strings.HasPrefix(last, "\nFROM scratch\n") || !regexp.MustCompile(`(?m)^USER [1-9]`).MatchString(last) || strings.Contains(last, "RUN ") {
		t.Error(last)
	}
	build := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 go -C remote build .*?) &&`).FindStringSubmatch(text)
	root, err := filepath.Abs("..")
	if build == nil || err != nil {
		t.Fatalf("no build in %s: %v", text, err)
	}
	if !effort.Whole() {
		return // other flags: all packages are compiled again, for a minute; make search does
	}
	if out, code := shell(t, root, strings.Replace(build[1], "-o /amn", "-o "+dir+"/amn", 1)); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	f, err := elf.Open(filepath.Join(dir, "amn"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program asks for a loader, which no scratch image has")
		}
	}
}

// The program locks itself, does all of its work, and says what the system lacks.
func TestTheProgramWorksLocked(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the sandbox is Linux'")
	}
	bin, dir := built(t), workplace(t)
	path := "PATH=" + bin + ":" + os.Getenv("PATH")
	for _, c := range []struct {
		line string
		code int
	}{
		{"amn scan --output sarif=out.sarif models", 0},
		{"amn scan --bom bom.json --attest model.att --key key.pem models", 0},
		{"amn scan -q - <model.safetensors", 0},
		{"cat upload.npz | amn scan -q -", 0},
		{"amn scan --files-from list.txt", 0},
		{"ln -s models linked && amn scan linked && amn scan linked/tiny", 0},
		{"amn inspect -r models", 0},
		{"amn inspect model.safetensors tiny.gguf", 0},
		{"cat tiny.gguf | amn inspect -", 0},
		{"amn inspect models/tiny/model.safetensors.index.json", 0},
		{"amn scan absent", 2},
		{"amn scan --sandbox off models", 0},
	} {
		if out, code := shell(t, dir, c.line, path); code != c.code {
			t.Errorf("%s: exit %d\n%s", c.line, code, out)
		}
	}
	// The files to read cannot be changed, and nothing else is opened: the kernel enforces the
	// scan's rules about links too.
	out, code := shell(t, dir, "amn scan --sandbox on -q models", path)
	if code != 0 && !(code == 2 && strings.Contains(out, "the system lacks")) {
		t.Errorf("exit %d: %s", code, out)
	}
	if r := amn(t, nil, "scan", "--sandbox", "on", dir); r.code != 2 {
		t.Errorf("another program is locked: exit %d", r.code)
	}
}
