package cli_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A word that was mistyped is told with the one that was meant.
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

// Words that name no target are told with what they may mean.
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
