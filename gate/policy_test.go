package gate_test

import (
	"encoding/json"
	"errors"
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

// policy reads one that must be one.
func policy(t *testing.T, text string) gate.Policy {
	t.Helper()
	p, err := gate.ParsePolicy([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

func valid(t *testing.T, format, name string) string {
	t.Helper()
	data := ""
	for _, s := range corpus.Valid(format) {
		if strings.HasPrefix(s.Name, name) {
			data = string(s.Data)
		}
	}
	if data == "" {
		t.Fatal(format, name)
	}
	return data
}

// firstRule is by which a file is refused.
func firstRule(v *gate.Verdict) string {
	if list := v.Refusals(); len(list) > 0 {
		return list[0].Rule
	}
	return ""
}

func TestPoliciesAllowFormatsTypesAndSchemes(t *testing.T) {
	f32 := header(54, `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`) + "\x00\x00\x00\x00"
	const plain = "\x80\x02}q\x00."
	for _, tc := range []struct {
		what, policy, name, data, rule string
	}{
		{"a format that is named", `{"formats": ["safetensors"]}`, "m.safetensors", f32, ""},
		{"all formats", `{"formats": ["*"]}`, "m.safetensors", f32, ""},
		{"a format that is not named", `{"formats": ["gguf"]}`, "m.safetensors", f32, "gate.format"},
		{"no format at all", `{"formats": []}`, "m.safetensors", f32, "gate.format"},
		{"a checkpoint, and plain pickles alone are named", `{"formats": ["pickle"]}`, "m.pt", valid(t, "pth", "tied"), "gate.format"},
		{"a plain pickle, and checkpoints alone are named", `{"formats": ["pth"]}`, "m.pkl", plain, "gate.format"},
		{"a plain pickle that is named", `{"formats": ["pickle"]}`, "m.pkl", plain, ""},
		{"limits refuse checkpoints, and plain pickles with them", `{"refuse_formats": ["pth"]}`, "m.pkl", plain, "gate.format"},
		{"a type that is named", `{"dtypes": ["F32", "BF16"]}`, "m.safetensors", f32, ""},
		{"a type that is not named", `{"dtypes": ["BF16"]}`, "m.safetensors", f32, "gate.dtype"},
		{"a checkpoint of such a type", `{"dtypes": ["BF16"]}`, "m.pt", valid(t, "pth", "tied"), "gate.dtype"},
		{"schemes do not bind plain tensors", `{"schemes": []}`, "m.safetensors", f32, ""},
		{"pickles are refused: a checkpoint", `{"pickle": "refuse"}`, "m.pt", valid(t, "pth", "tied"), "gate.pickle"},
		{"pickles are refused: a plain one", `{"pickle": "refuse"}`, "m.pkl", plain, "gate.pickle"},
		{"pickles are refused: one that runs code says so", `{"pickle": "refuse"}`, "m.pkl", evil, "pickle.global"},
		{"weights_only takes a state dict", `{"pickle": "weights_only"}`, "m.pt", valid(t, "pth", "tied"), ""},
		{"weights_only does not know a frozenset", `{"pickle": "weights_only"}`, "m.pkl", "\x80\x02c__builtin__\nfrozenset\n]\x85R.", "gate.weights-only"},
		{"and we do", `{}`, "m.pkl", "\x80\x02c__builtin__\nfrozenset\n]\x85R.", ""},
	} {
		t.Run(tc.what, func(t *testing.T) {
			v, _ := check(t, gate.Gate{Policy: policy(t, tc.policy)}, tc.data, gate.Hint{Name: tc.name})
			if firstRule(v) != tc.rule {
				t.Errorf("by rule %q, want %q: %v", firstRule(v), tc.rule, v.Err)
			}
		})
	}
}

func TestSchemesMustBeAllowedByThePolicy(t *testing.T) {
	paths, err := filepath.Glob("../quant/*/testdata/*/*.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		open, _ := check(t, gate.Gate{}, string(data), gate.Hint{Name: "m.safetensors"})
		none, _ := check(t, gate.Gate{Policy: policy(t, `{"schemes": []}`)}, string(data), gate.Hint{Name: "m.safetensors"})
		if !open.Accepted() && none.Accepted() {
			t.Errorf("%s: accepted by the stricter policy", path)
		}
		if firstRule(none) == "gate.scheme" {
			refused++
		}
	}
	if refused == 0 {
		t.Errorf("none of %d quantized files is refused by its scheme", len(paths))
	}
}

// Files that transformers' Trainer writes are accepted with its set of globals, and refused without
// it; the set admits nothing else.
func TestTrainerArgumentsPassUnderTheirSet(t *testing.T) {
	set := policy(t, `{"allow_globals": ["hf-trainer"]}`)
	strict, _ := gate.Profile("strict")
	strict.AllowGlobals = set.AllowGlobals
	files, err := filepath.Glob("../testdata/gate/trainer/*.bin")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		h := gate.Hint{Name: "training_args.bin", Beside: true}
		v, text := check(t, gate.Gate{Policy: set}, string(data), h)
		if !v.Accepted() || !v.Verified || len(v.Allowed) < 8 || !strings.Contains(text, `"allowed_globals"`) {
			t.Errorf("%s: %v, allowed %v", path, v.Err, v.Allowed)
		}
		if v, _ := check(t, gate.Gate{}, string(data), h); firstRule(v) != "pickle.global" {
			t.Errorf("%s: without the set: %v", path, v.Err)
		}
		if v, _ := check(t, gate.Gate{Policy: strict}, string(data), h); v.Accepted() {
			t.Errorf("%s: strict refuses pickles", path)
		}
		only := set
		only.Pickle = gate.PickleWeightsOnly
		if v, _ := check(t, gate.Gate{Policy: only}, string(data), h); !v.Accepted() {
			t.Errorf("%s: a loader that is told the same globals takes it: %v", path, v.Err)
		}
		// One byte of a member's data: its checksum tells.
		broken := strings.Replace(string(data), "output_dir", "output_dix", 1)
		if v, _ := check(t, gate.Gate{Policy: set}, broken, h); v.Accepted() {
			t.Errorf("%s: accepted with another byte", path)
		}
	}
}

// A global that is allowed is allowed as data: by its name, called, and given a state.
func TestAllowedGlobalsStayData(t *testing.T) {
	const (
		enum  = "ctransformers.trainer_utils\nHubStrategy\n"
		class = "ctransformers.training_args\nTrainingArguments\n"
		mine  = "cmy.module\nConfig\n"
	)
	for _, tc := range []struct {
		what, data string
		ok         bool
	}{
		{"an enumeration, called with a text", enum + "(S'end'\ntR.", true},
		{"a class, made and given attributes", "\x80\x02" + class + ")\x81}U\x01aK\x01sb.", true},
		{"one that the policy names, called with what it likes", mine + "(I1\nI2\ntR.", true},
		{"an enumeration, called with two", enum + "(S'a'\nS'b'\ntR.", false},
		{"an enumeration, called with a list", enum + "((ltR.", false},
		{"what a call gives is called", mine + "(tR(tR.", false},
		{"the class itself is given a state", "\x80\x02" + mine + "}U\x01aK\x01sb.", false},
		{"attributes that Python looks up itself", "\x80\x02" + mine + ")\x81}U\x09__class__K\x01sb.", false},
		{"a state that is not a dict", "\x80\x02" + mine + ")\x81K\x01b.", true},
		{"slots that Python itself looks up", "\x80\x02" + mine + ")\x81N}U\x09__class__K\x01s\x86b.", false},
		{"it is appended to", "\x80\x02" + mine + ")\x81K\x01a.", true},
		{"it is a key", "\x80\x02}" + mine + ")\x81K\x01s.", true},
		{"named arguments", "\x80\x04" + mine + ")}U\x01aK\x01s\x92.", true},
		{"it contains itself", "\x80\x02" + mine + ")\x81q\x00}U\x01ah\x00sb.", true},
		{"made as protocol 0 does", "ccopy_reg\n_reconstructor\n(" + mine + "c__builtin__\nobject\nNtR.", true},
		{"beside one that runs code", mine + "(tR0cos\nsystem\n(S'id'\ntR.", false},
		{"beside one that is not allowed", mine + "(tR0cmy.module\nOther\n(tR.", false},
		{"a name below it", "cmy.module\nConfig.load\n(tR.", false},
		{"another module", "cmy.module.Config\nload\n(tR.", false},
		{"broken behind it", mine + "(tR", false},
	} {
		t.Run(tc.what, func(t *testing.T) {
			p := policy(t, `{"allow_globals": ["hf-trainer", "my.module.Config"]}`)
			v, _ := check(t, gate.Gate{Policy: p}, tc.data, gate.Hint{Name: "m.pkl"})
			if v.Accepted() != tc.ok {
				t.Errorf("%v", v.Err)
			}
			if w, _ := check(t, gate.Gate{}, tc.data, gate.Hint{Name: "m.pkl"}); w.Accepted() {
				t.Error("accepted without being allowed")
			}
		})
	}
}

func TestRulesChangeSeverities(t *testing.T) {
	data := valid(t, "gguf", "template")
	all, _ := check(t, gate.Gate{Policy: gate.Policy{FailOn: gate.FailNever}}, data, gate.Hint{Name: "a.gguf"})
	if len(all.Findings) < 2 {
		t.Fatalf("%v", all.Findings)
	}
	off := policy(t, `{"rules": [{"rule": "gguf.template-*", "severity": "off"}]}`)
	v, text := check(t, gate.Gate{Policy: off}, data, gate.Hint{Name: "a.gguf"})
	if !v.Accepted() || len(v.Ignored) == 0 || !strings.Contains(text, `"ignored":[{"rule":"gguf.template-`) {
		t.Errorf("%v, %s", v.Err, text)
	}
	last := policy(t, `{"rules": [{"rule": "gguf.*", "severity": "off"}, {"rule": "gguf.template-*", "severity": "note"}]}`)
	if v, _ := check(t, gate.Gate{Policy: last}, data, gate.Hint{Name: "a.gguf"}); !v.Accepted() || len(v.Findings) == 0 {
		t.Errorf("the last change counts: %v", v.Err)
	}
	raised := policy(t, `{"fail_on": "danger", "rules": [{"rule": "detect.name", "severity": "danger"}]}`)
	if v, _ := check(t, gate.Gate{Policy: raised}, empty, gate.Hint{Name: "a.gguf"}); firstRule(v) != "detect.name" {
		t.Errorf("%v", v.Err)
	}
}

func TestBlocksOfPaths(t *testing.T) {
	p := policy(t, `{"pickle": "refuse", "paths": [
		{"path": "trusted/**", "pickle": "safe", "allow_globals": ["hf-trainer"]},
		{"path": "trusted/raw/*.pkl", "pickle": "refuse"},
		{"path": "*.gz", "unlooked": "report"}]}`)
	data, err := os.ReadFile("../testdata/gate/trainer/plain.bin")
	if err != nil {
		t.Fatal(err)
	}
	for name, rule := range map[string]string{
		"training_args.bin": "pickle.global", "trusted/training_args.bin": "", "trusted/deep/er/x.bin": "", "trusted/raw/x.pkl": "gate.pickle",
	} {
		v, _ := check(t, gate.Gate{Policy: p}, string(data), gate.Hint{Name: name, Beside: true})
		if firstRule(v) != rule {
			t.Errorf("%s: by %q: %v", name, firstRule(v), v.Err)
		}
	}
	if v, _ := check(t, gate.Gate{Policy: p}, packed, gate.Hint{Name: "a/x.gz", Beside: true}); !v.Accepted() {
		t.Error(v.Err)
	}
	p.Everywhere("unlooked")
	if v, _ := check(t, gate.Gate{Policy: p}, packed, gate.Hint{Name: "a/x.gz", Beside: true}); v.Accepted() {
		t.Error("what holds everywhere is changed by a block")
	}
}

// An exception that is used says why, and one that has run out says so.
func TestExceptionsAreReported(t *testing.T) {
	p := policy(t, `{"ignore": [{"rule": "gate.unlooked", "path": "*.gz", "reason": "unpacked elsewhere", "expires": "2026-12-31"}]}`)
	v, text := check(t, gate.Gate{Policy: p, Today: "2026-12-31"}, packed, gate.Hint{Name: "x.gz", Beside: true})
	if !v.Accepted() || v.Ignored[0].Exception.Reason != "unpacked elsewhere" || !strings.Contains(text, `"reason":"unpacked elsewhere","expires":"2026-12-31"`) {
		t.Error(text)
	}
	v, text = check(t, gate.Gate{Policy: p, Today: "2027-01-01"}, packed, gate.Hint{Name: "x.gz", Beside: true})
	if v.Accepted() || len(v.Expired) != 1 || !strings.Contains(text, `"expired":[{`) {
		t.Error(text)
	}
}

func TestInvalidPoliciesAreRefused(t *testing.T) {
	for _, bad := range []string{
		`{"formats": "gguf"}`, `{"formats": ["t7"]}`, `{"formats": ["gguf", "gguf"]}`, `{"formats": null}`, `{"dtypes": ["f32"]}`, `{"schemes": ["GPTQ2"]}`,
		`{"pickle": "yes"}`, `{"pickle": true}`, `{"allow_globals": ["os.system"]}`, `{"allow_globals": ["builtins.eval"]}`, `{"allow_globals": ["torch.*"]}`,
		`{"allow_globals": ["trainer"]}`, `{"allow_globals": [""]}`, `{"allow_globals": "hf-trainer"}`,
		`{"rules": [{"rule": "gguf.nothing", "severity": "off"}]}`, `{"rules": [{"rule": "zip.overlap", "severity": "off"}]}`,
		`{"rules": [{"rule": "gguf.split", "severity": "never"}]}`, `{"rules": [{"rule": "gguf.split"}]}`, `{"rules": {"gguf.split": "off"}}`,
		`{"rules": [{"Rule": "gguf.split", "severity": "off"}]}`, `{"rules": [{"rule": "gguf.split", "rule": "gguf.split", "severity": "off"}]}`,
		`{"paths": [{"pickle": "safe"}]}`, `{"paths": [{"path": "[", "pickle": "safe"}]}`, `{"paths": [{"path": "*", "ignore": []}]}`,
		`{"paths": [{"path": "*", "max_items": 3}]}`, `{"paths": [{"path": "*", "fail_on": "always"}]}`, `{"paths": [{"path": 3}]}`, `{"paths": {}}`,
		`{"version": 1, "fail_on": "note"}`, `{"version": "2"}`, `{"version": 2.5}`, `{"version": 0}`, `{"version": null}`,
		`{"ignore": [{"rule": "gguf.split", "path": "*", "reason": "r", "expires": "2026-13-01"}]}`, `{"ignore": [{"RULE": "gguf.split", "path": "*", "reason": "r"}]}`,
	} {
		if _, err := gate.ParsePolicy([]byte(bad)); !errors.Is(err, limits.ErrPolicy) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, good := range []string{`{}`, `{"version": 1, "max_items": 7}`, `{"max_items": 7}`, `{"version": 2, "fail_on": "note"}`} {
		policy(t, good)
	}
}

func TestEveryMemberIsReadAsItIsWritten(t *testing.T) {
	p := policy(t, `{"version": 2, "formats": ["gguf"], "dtypes": ["F32"], "schemes": [], "pickle": "weights_only", "allow_globals": ["hf-trainer"],
		"fail_on": "note", "unlooked": "report", "rules": [{"rule": "gguf.split", "severity": "danger"}],
		"paths": [{"path": "a/**", "formats": ["*"], "rules": [], "unlooked": "refuse"}],
		"ignore": [{"rule": "gguf.split", "path": "x", "reason": "r"}], "max_items": 9}`)
	first, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(policy(t, string(first)))
	if err != nil || string(first) != string(second) {
		t.Errorf("%v\n%s\n%s", err, first, second)
	}
	for _, name := range gate.Profiles() {
		p, _ := gate.Profile(name)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := json.Marshal(policy(t, string(text))); string(again) != string(text) {
			t.Errorf("%s:\n%s\n%s", name, text, again)
		}
	}
}

func TestClassSetsAdmitNoDangerousGlobals(t *testing.T) {
	for name, list := range gate.GlobalSets() {
		if !slices.IsSorted(list) || len(list) == 0 {
			t.Errorf("%s: %v", name, list)
		}
		for _, g := range list {
			policy(t, fmt.Sprintf(`{"allow_globals": [%q]}`, g))
		}
	}
}

func TestSidecarsAreJudgedUnlessThePolicySkipsThem(t *testing.T) {
	const config = `{"auto_map": {"AutoModel": "modeling.Model"}}`
	h := gate.Hint{Name: "config.json", Beside: true}
	for text, want := range map[string]string{`{"fail_on": "warning"}`: "sidecar.auto-map", `{"fail_on": "warning", "sidecars": "skip"}`: "",
		`{"fail_on": "warning", "paths": [{"path": "config.json", "sidecars": "skip"}]}`: ""} {
		if v, _ := check(t, gate.Gate{Policy: policy(t, text)}, config, h); firstRule(v) != want {
			t.Errorf("%s: by %q: %v", text, firstRule(v), v.Err)
		}
	}
}
