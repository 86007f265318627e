package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A policy with an unknown name or an impossible number ends the program before
// any file is read.
func TestAPolicyThatCannotBeEndsTheProgram(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct{ policy, says string }{
		{`{"max_items": -5}`, `field "max_items": "-5" is not a whole number`},
		{`{"refuse_findings": ["gguf.token_dup"]}`, `field "refuse_findings": no finding has the name "gguf.token_dup"`},
		{`{"refuse_formats": ["pickle"]}`, `field "refuse_formats": no format has the name "pickle" (dcp, deepspeed, ggml, gguf, hdf5, keras,`},
		{`{"quirks": ["gguf.gap"]}`, `field "quirks": no quirk has the name "gguf.gap"`},
	} {
		policy := filepath.Join(dir, fmt.Sprint(i, ".json"))
		if err := os.WriteFile(policy, []byte(c.policy), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"inspect", "scan"} {
			r := amn(t, nil, command, "--limits", policy, filepath.Join(dir, "absent.gguf"))
			if r.code != 2 || !strings.Contains(r.err, c.says) || r.out != "" {
				t.Errorf("%s %s: exit %d, %q", command, c.policy, r.code, r.err)
			}
		}
	}
}

// More shards than files may be open are refused by class.
func TestShardsBeyondTheOpenFilesAreALimit(t *testing.T) {
	dir := t.TempDir()
	const shards = 12
	for i := range shards {
		header := fmt.Sprintf(`{"t%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, i)
		file := fmt.Sprintf("%c\x00\x00\x00\x00\x00\x00\x00%s", len(header), header)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, shards)), []byte(file), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if r := amn(t, nil, "inspect", "--max-open-files", "12", dir); r.code != 0 {
		t.Errorf("as many files as shards: exit %d, %s", r.code, r.err)
	}
	r := amn(t, nil, "inspect", "--max-open-files", "11", dir)
	if r.code != 6 || !strings.Contains(r.err, "limit open_files: it takes 1, and 0 are left") || !strings.Contains(r.err, "--max-open-files raises it") {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
}

// A policy is shown as it is read, checked, and said in words.
func TestPolicyCommands(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.json")
	write(t, file, `{"version": 2, "pickle": "refuse", "paths": [{"path": "**/training_args.bin", "pickle": "safe", "allow_globals": ["hf-trainer"]}],
		"ignore": [{"rule": "gate.unlooked", "path": "*.gz", "reason": "unpacked elsewhere", "expires": "2020-01-01"}]}`)
	for _, policy := range []string{"server", "strict", "edge", "upload", file} {
		shown := amn(t, nil, "policy", "show", policy)
		valid(t, "policy", shown.out)
		again := filepath.Join(dir, "again.json")
		write(t, again, shown.out)
		if second := amn(t, nil, "policy", "show", again); second.out != shown.out || second.code != 0 {
			t.Errorf("%s is read as another policy:\n%s\n%s", policy, shown.out, second.out)
		}
		valid(t, "policy-check", amn(t, nil, "policy", "check", "--json", policy).out)
		valid(t, "policy-explain", amn(t, nil, "policy", "explain", "--json", "--path", "a/b", policy).out)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"check", file}, "expired on 2020-01-01: the exception for gate.unlooked (unpacked elsewhere)"},
		{[]string{"explain", file}, "Pickles are refused"},
		{[]string{"explain", "--path", "run/training_args.bin", file}, "transformers.training_args.TrainingArguments"},
		{[]string{"explain", "--path", "run/model.bin", file}, "Pickles are refused"},
	} {
		if r := amn(t, nil, append([]string{"policy"}, c.args...)...); r.code != 0 || !strings.Contains(r.out, c.says) {
			t.Errorf("%v: exit %d\n%s", c.args, r.code, r.out+r.err)
		}
	}
	for _, text := range []string{`{"version": 4}`, `{"formats": ["lz4"]}`, `{"allow_globals": ["os.system"]}`, `{"rules": [{"rule": "no.such", "severity": "off"}]}`, `[`} {
		write(t, file, text)
		if r := amn(t, nil, "policy", "check", file); r.code != 2 || r.out != "" {
			t.Errorf("%s: exit %d, %s", text, r.code, r.out)
		}
	}
}

// The output names what the policy allows, ignores, and no longer ignores.
func TestScanReportsWhatThePolicyAllowed(t *testing.T) {
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.json")
	write(t, policy, `{"version": 2, "allow_globals": ["hf-trainer"], "ignore": [
		{"rule": "gate.unlooked", "path": "old.lz4", "reason": "as before", "expires": "2020-01-01"},
		{"rule": "gate.unlooked", "path": "new.lz4", "reason": "judged elsewhere"}]}`)
	models := t.TempDir()
	write(t, filepath.Join(models, "training_args.bin"), load(t, "../testdata/gate/trainer/plain.bin"))
	write(t, filepath.Join(models, "old.lz4"), "\x04\"M\x18d@\xa7\x00 and more")
	write(t, filepath.Join(models, "new.lz4"), "\x04\"M\x18d@\xa7\x00 and more")
	r := amn(t, nil, "scan", "--limits", policy, "--all", models)
	for _, text := range []string{
		"transformers.training_args.TrainingArguments: allowed by the policy", "gate.unlooked: excepted: judged elsewhere",
		"the exception for gate.unlooked ran out on 2020-01-01: as before",
	} {
		if !strings.Contains(strings.Join(strings.Fields(r.out), " "), text) {
			t.Errorf("%q is missing in\n%s", text, r.out)
		}
	}
	for line := range strings.Lines(amn(t, nil, "scan", "--json", "--limits", policy, models).out) {
		valid(t, "scan", line)
	}
}
