package cli_test

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pipelineFolder has an honest file, one that is cut, and one with a finding.
func pipelineFolder(t *testing.T) string {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cut.safetensors"), emptyTensor[:9])
	write(t, filepath.Join(dir, "m.safetensors"), emptyTensor)
	write(t, filepath.Join(dir, "named.gguf"), emptyTensor) // detect.name, a warning
	return dir
}

// inspect and verify report as scan does: one form on standard output, several in files.
func TestModelsAreReportedForPipelines(t *testing.T) {
	dir := pipelineFolder(t)
	for _, command := range []string{"inspect", "verify"} {
		out := t.TempDir()
		at := func(name string) string { return filepath.Join(out, name) }
		args := []string{
			command, "--format", "markdown", "--output", "sarif=" + at("sarif"), "--output", "junit=" + at("junit"), "--output", "gitlab=" + at("gitlab"),
			"--output", "github=" + at("github"), "--output", "json=" + at("json"), "--output", "baseline=" + at("baseline"), "--quiet", dir,
		}
		r := amn(t, nil, args...)
		if r.code != 4 || strings.Count(r.out, "\n| ") != 3 || !strings.Contains(r.out, "| truncated | `safetensors.truncated` |") {
			t.Errorf("%s: exit %d\n%s%s", command, r.code, r.out, r.err)
		}
		var sarif struct {
			Runs []struct {
				Results []struct{ RuleID, Level string }
			}
		}
		if err := json.Unmarshal([]byte(load(t, at("sarif"))), &sarif); err != nil {
			t.Fatal(err)
		}
		if list := sarif.Runs[0].Results; len(list) != 2 || list[0].RuleID != "safetensors.truncated" || list[0].Level != "error" || list[1].RuleID != "detect.name" || list[1].Level != "warning" {
			t.Errorf("%s: %+v", command, list)
		}
		var junit struct {
			Suites []struct {
				Cases []struct {
					Failures []struct{} `xml:"failure"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal([]byte(load(t, at("junit"))), &junit); err != nil || len(junit.Suites[0].Cases) != 3 || len(junit.Suites[0].Cases[0].Failures) != 1 {
			t.Errorf("%s: %v %+v", command, err, junit)
		}
		for name, want := range map[string]string{"gitlab": `"check_name":"safetensors.truncated"`, "github": "::error file=", "baseline": `"rules":["safetensors.truncated"]`} {
			if text := load(t, at(name)); !strings.Contains(text, want) {
				t.Errorf("%s: no %s in\n%s", command, want, text)
			}
		}
		for line := range strings.Lines(load(t, at("json"))) {
			valid(t, command, line)
		}
		if plain := amn(t, nil, command, "--json", dir); strings.Count(plain.out, "\n") != 3 {
			t.Errorf("%s: %s", command, plain.out)
		}
	}
}

// A command without reports refuses the flag before it opens a file.
func TestReportFlagsOfCommandsWithoutReportsAreRefused(t *testing.T) {
	dir := pipelineFolder(t)
	file, out := filepath.Join(dir, "m.safetensors"), filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"inspect", "--html", out + ".html", "--output", "json=" + out, file},
		{"inspect", "--wire", "--output", "json=" + out, file},
		{"verify", "--against", file, "--output", "json=" + out, file},
		{"verify", "--attestation", file, "--key", file, "--output", "json=" + out, file},
	} {
		if r := amn(t, nil, args...); r.code != 2 || !strings.Contains(r.err, "cannot be combined with the flags of reports") {
			t.Errorf("%q: exit %d %s", args, r.code, r.err)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a report was begun")
	}
}

// inspect and verify take the flags of pipelines: severities, baselines, exclusions, lists of files
// and a total timeout.
func TestFlagsOfPipelinesReachInspectAndVerify(t *testing.T) {
	dir := pipelineFolder(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	known, list := filepath.Join(t.TempDir(), "known"), filepath.Join(t.TempDir(), "list")
	amn(t, nil, "inspect", "--output", "baseline="+known, dir)
	write(t, list, at("m.safetensors")+"\n"+at("named.gguf")+"\n")
	if err := os.Mkdir(at("below"), 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, at("below/cut.npy"), "\x93NUMPY")
	for _, command := range []string{"inspect", "verify"} {
		for _, c := range []struct {
			why  string
			code int
			args []string
			err  string
		}{
			{"a finding is said and refuses nothing", 0, []string{at("named.gguf")}, ""},
			{"unless that is asked", 7, []string{"--fail-on", "warning", at("named.gguf")}, "detect.name"},
			{"of its severity", 0, []string{"--fail-on", "danger", at("named.gguf")}, ""},
			{"a policy may refuse findings", 7, []string{"--limits", "strict", at("named.gguf")}, "detect.name"},
			{"and a flag be over it", 0, []string{"--limits", "server", "--fail-on", "never", at("named.gguf")}, ""},
			{"what is known does not fail", 0, []string{"--baseline", known, dir}, "ignored: safetensors.truncated: excepted: baseline"},
			{"by its content", 4, []string{"--baseline", known, "-r", dir}, "below/cut.npy"},
			{"what is excluded is not opened", 0, []string{"-r", "--exclude", "cut.*", dir}, ""},
			{"a file that is named is", 4, []string{"--exclude", "cut.*", at("cut.safetensors")}, ""},
			{"a list names files", 0, []string{"--files-from", list}, ""},
			{"or paths do", 2, []string{"--files-from", list, dir}, "not both"},
			{"one of them", 2, nil, "name a file: files, folders"},
			{"an empty list is not a success", 5, []string{"--files-from", os.DevNull}, "nothing was judged"},
			{"the time for all of them ends", 6, []string{"--total-timeout", "1ns", dir}, "--total-timeout raises it"},
			{"an unknown report", 2, []string{"--output", "pdf=x", dir}, "the format is one of"},
			{"a report over a file", 2, []string{"--output", "json=" + at("m.safetensors"), dir + "/m.safetensors"}, "this file is an input"},
		} {
			if r := amn(t, nil, append([]string{command}, c.args...)...); r.code != c.code || !strings.Contains(r.err, c.err) {
				t.Errorf("%s, %s: exit %d, want %d\n%s%s", command, c.why, r.code, c.code, r.out, r.err)
			}
		}
	}
}
