package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The message for a mistyped word names the intended one.
func TestDidYouMean(t *testing.T) {
	for line, want := range map[string]string{
		"inspct x":                 `"inspect"`,
		"help inspct":              `"inspect"`,
		"man scn":                  `"scan"`,
		"inspect --jsn x":          `"--json"`,
		"parse --sort nme x":       `"name"`,
		"completion bsh":           `"bash"`,
		"limits sho":               `"show"`,
		"limits show strct":        `"strict"`,
		"inspect --limits strct x": `"strict"`,
		"policy chek x":            `"check"`,
		"convert --to gguff " + demo + "/model.safetensors":   `"gguf"`,
		"quantize --to q4_k_n " + demo + "/model.safetensors": `"q4_k_m"`,
	} {
		var errs bytes.Buffer
		if code := run(t, nil, &bytes.Buffer{}, &errs, strings.Fields(line)...); code != 2 || !strings.Contains(errs.String(), "did you mean "+want) {
			t.Errorf("%s: exit %d, %s", line, code, &errs)
		}
	}
}

// The message for an unknown target lists what it may mean.
func TestWordsForTargets(t *testing.T) {
	model := " " + demo + "/model.safetensors"
	for line, want := range map[string]string{
		"quantize --to q4km" + model:                  `did you mean "q4_k_m"`,
		"quantize --to nf-4" + model:                  `did you mean "nf4"`,
		"quantize --to gguf" + model:                  "a mix such as q4_k_m",
		"quantize --to int4" + model:                  "w4a16 (compressed-tensors), gptq, awq",
		"quantize --to 4-bit" + model:                 "nf4 (bitsandbytes)",
		"quantize --to FP16" + model:                  "amn convert --cast f16 writes it",
		"convert --to fp8" + model:                    "amn quantize --to fp8 writes it",
		"convert --to q4_k_m" + model:                 "amn quantize --to q4_k_m writes it",
		"convert --to pt" + model:                     "pickles are only read",
		"merge-lora" + model + model + " --weight":    "--weight: the value is missing",
		"merge-lora --weight=1 -o -- x" + model:       "the value is missing",
		"quantize" + model + " --to":                  "--to: the value is missing",
		"quantize --max-shard-size --json -q" + model: "--max-shard-size",
	} {
		var errs bytes.Buffer
		if code := run(t, nil, &bytes.Buffer{}, &errs, strings.Fields(line)...); code != 2 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, %s", line, code, &errs)
		}
	}
}

// Schemes of addresses are offered by a program that opens them.
func TestSchemesAreCompleted(t *testing.T) {
	for _, c := range []struct {
		word   string
		remote bool
		want   []string
	}{
		{"h", true, []string{"hf://", "https://"}}, {"h", false, nil}, {"s3", true, []string{"s3://"}}, {"o", true, []string{"ollama:", "oci://", "ollama://"}}, {"", true, nil},
	} {
		var out bytes.Buffer
		io := cli.Stdio{Out: &out, Err: &out}
		if c.remote {
			io.Remote = func(context.Context, *limits.Budget, string) (tensor.Model, error) { return nil, errors.ErrUnsupported }
		}
		if code := cli.Main(t.Context(), []string{"__complete", "inspect", c.word}, io); code != 0 {
			t.Fatalf("exit %d: %s", code, &out)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			if word, _, ok := strings.Cut(line, "\t"); ok {
				got = append(got, word)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.word, got, c.want)
		}
	}
}

// The message for a flag of another program names the flag of this one, if it has one.
func TestFlagsOfOtherPrograms(t *testing.T) {
	for line, want := range map[string]string{
		"inspect --profile strict x":     "unknown flag --profile; --limits takes a profile",
		"merge --filter=a x":             "unknown flag --filter; amn parse --tensor takes a pattern of names",
		"scan --filter=a x":              "unknown flag --filter; --exclude leaves files out",
		"version --filter=a":             "unknown flag --filter (see",
		"dequantize --filter=a x":        "unknown flag --filter; --tensor takes a pattern of names",
		"hash -c m.sha256":               "unknown flag -c; --check compares with a manifest",
		"scan -c policy.json x":          "unknown flag -c; --limits takes a policy",
		"scan -p x":                      "unknown flag -p; name the file without a flag",
		"convert --outtype f16 x x.gguf": "unknown flag --outtype; --out-dtype is its name here",
	} {
		var errs bytes.Buffer
		if code := run(t, nil, &bytes.Buffer{}, &errs, strings.Fields(line)...); code != 2 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, %s", line, code, &errs)
		}
	}
}

// A file that is not there is wrong usage in every command, told with the one beside it that
// was meant.
func TestAMissingFileIsWrongUsage(t *testing.T) {
	for _, command := range []string{"inspect", "parse", "scan", "hash", "stats", "verify", "dequantize", "quantize --to nf4", "convert --to npz", "edit --set a=b", "split", "join", "policy learn", "diff " + demo + "/tiny.gguf"} {
		var out, errs bytes.Buffer
		code := run(t, nil, &out, &errs, append(strings.Fields(command), demo+"/tiny.guf")...)
		if said := out.String() + errs.String(); code != 2 || !strings.Contains(said, `did you mean "`+demo+`/tiny.gguf"?`) || strings.Contains(said, "internal") {
			t.Errorf("%s: exit %d, %s", command, code, said)
		}
	}
	var out bytes.Buffer
	if code := run(t, nil, &out, &bytes.Buffer{}, "inspect", "--json", demo+"/tiny.guf"); code != 2 || !strings.Contains(out.String(), `"class":"usage","exit":2`) {
		t.Errorf("exit %d, %s", code, &out)
	}
	// A missing file inside a model is an error of the model, not of usage.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(`{"weight_map":{"a":"b.safetensors"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := run(t, nil, &bytes.Buffer{}, &bytes.Buffer{}, "inspect", dir); code == 2 || code == 0 {
		t.Errorf("a missing shard: exit %d", code)
	}
}

// A command without a file says what it takes.
func TestAMissingArgumentIsExplained(t *testing.T) {
	for _, command := range []string{"inspect", "parse", "view", "scan", "hash", "stats", "verify", "dequantize", "quantize", "convert", "edit", "split", "join", "diff", "merge", "merge-lora"} {
		var errs bytes.Buffer
		if code := run(t, nil, &bytes.Buffer{}, &errs, command); code != 2 || !strings.Contains(errs.String(), "file") {
			t.Errorf("%s: exit %d, %s", command, code, &errs)
		}
	}
}

// The name of the output chooses the format, as the second argument and after -o.
func TestTheNameOfTheOutputChoosesTheFormat(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ line, file, magic string }{
		{demo + "/tiny.gguf OUT", "a.npz", "PK"},
		{demo + "/tiny.gguf -o OUT", "b.safetensors", ""},
		{demo + "/weights.npz OUT --raw-names", "c.gguf", "GGUF"},
		{"--cast f16 " + demo + "/weights.npz OUT", "d.npz", "PK"},
		{"--cast f16 " + demo + "/weights.npz OUT", "e", ""}, // a cast without a format writes safetensors
	} {
		path := filepath.Join(dir, c.file)
		var errs bytes.Buffer
		if code := run(t, nil, &bytes.Buffer{}, &errs, strings.Fields("convert "+strings.Replace(c.line, "OUT", path, 1))...); code != 0 {
			t.Errorf("%s: exit %d, %s", c.line, code, &errs)
			continue
		}
		if got, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(got), c.magic) || c.magic == "" && !bytes.Contains(got[:16], []byte{0, 0, 0, 0, '{', '"'}) {
			t.Errorf("%s: %.16q %v", c.line, got, err)
		}
	}
	for line, want := range map[string]string{
		"-f " + demo + "/tiny.gguf " + filepath.Join(dir, "a.npz"): "exists: name it with --output",
		demo + "/tiny.gguf x.bin":                                  "--to is missing",
		"--cast f16 " + demo + "/weights.npz x.bin":                "the name is that of pth, but safetensors will be written",
		demo + "/tiny.gguf a.npz -o b.npz":                         "the output is given twice",
		demo + "/tiny.gguf " + demo + "/weights.npz":               "exists",
	} {
		var errs bytes.Buffer
		if code := run(t, nil, &bytes.Buffer{}, &errs, strings.Fields("convert "+line)...); code == 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, %s", line, code, &errs)
		}
	}
}

// Rules are listed by a beginning, a pattern or a word.
func TestRulesAreFiltered(t *testing.T) {
	for _, c := range []struct{ filter, has, hasNot string }{
		{"zip.", "zip.duplicate", "gguf."}, {"*.duplicate", "zip.duplicate", "zip.encrypted"}, {"template", "template.", "zip."}, {"loaders differ", "zip.duplicate", "gate.digest"},
	} {
		var out bytes.Buffer
		if code := run(t, nil, &out, &bytes.Buffer{}, "rules", c.filter); code != 0 || !strings.Contains(out.String(), c.has) || strings.Contains(out.String(), "\n"+c.hasNot) {
			t.Errorf("%s: exit %d\n%s", c.filter, code, &out)
		}
	}
	var errs bytes.Buffer
	if code := run(t, nil, &bytes.Buffer{}, &errs, "rules", "zip.duplicat3"); code != 2 || !strings.Contains(errs.String(), `did you mean "zip.duplicate"?`) {
		t.Errorf("exit %d, %s", code, &errs)
	}
}
