package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/cli"
)

// speaksJSON has for each command a run that prints objects, and their schema.
var speaksJSON = map[string]struct{ args, schema string }{
	"inspect":        {"inspect @/model.safetensors @/checkpoint.pt nothing.gguf", "inspect"},
	"parse":          {"parse @/weights.npz", "parse"},
	"scan":           {"scan --unread --all @/checkpoint.pt", "scan"},
	"diff":           {"diff @/model.safetensors @/sharded", "diff"},
	"hash":           {"hash @/tiny.gguf", "digest"},
	"stats":          {"stats @/weights.npz", "stats"},
	"verify":         {"verify @/weights.npz", "verify"},
	"dequantize":     {"dequantize --dry-run @/llama-fp8 -o %/a", "remember"},
	"quantize":       {"quantize --dry-run --to Q4_0 @/tiny.gguf -o %/b.gguf", "forget"},
	"convert":        {"convert --to npz @/model.safetensors -o %/c.npz", "convert"},
	"edit":           {"edit --dry-run --set a=b @/model.safetensors", "convert"},
	"merge":          {"merge @/recipe.json -o %/d", "convert"},
	"merge-lora":     {"merge-lora @/sharded @/adapter -o %/e", "convert"},
	"split":          {"split --max-tensors 1 @/tiny.gguf -o %/f", "convert"},
	"join":           {"join @/split/tiny-00001-of-00002.gguf -o %/g.gguf", "convert"},
	"formats":        {"formats", "formats"},
	"limits show":    {"limits show edge", "policy"},
	"policy check":   {"policy check %/policy.json", "policy-check"},
	"policy explain": {"policy explain %/policy.json", "policy-explain"},
	"rules":          {"rules", "rules"},
	"version":        {"version", "version"},
}

// elsewhere says what holds for the others: their words where --json has no meaning.
var elsewhere = map[string]string{
	"view":         "amn: amn view needs a terminal; amn parse --json prints the same",
	"completion":   "amn: amn completion prints a shell script: it has no JSON form",
	"man":          "amn: amn man prints a man page: it has no JSON form",
	"serve":        "", // logs in JSON: TestServeLogsInJSON
	"policy show":  "", // a policy is JSON with or without, which policy check reads back
	"policy learn": "", // like policy show, it prints a policy
}

func TestEveryCommandSpeaksJSONOrSaysWhyNot(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "policy.json"), amn(t, nil, "policy", "show", "server").out)
	for _, command := range cli.CommandPaths() {
		run, speaks := speaksJSON[command]
		says, silent := elsewhere[command]
		switch {
		case speaks == silent:
			t.Errorf("amn %s: has it a schema, or why has it none?", command)
		case speaks:
			args := strings.Fields(strings.NewReplacer("@", demo, "%", dir).Replace(run.args))
			r := amn(t, nil, append(args, "--json")...)
			if command == "limits show" { // as --limits reads it back, on many lines
				valid(t, run.schema, r.out)
				continue
			}
			lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
			for _, line := range lines {
				valid(t, run.schema, line)
				if strings.Contains(line, `"class":"usage"`) && !strings.Contains(line, "file.missing") {
					t.Errorf("amn %s: %s", command, line)
				}
			}
		case says != "":
			args := map[string][]string{"view": {demo + "/tiny.gguf"}, "completion": {"bash"}}[command]
			r := amn(t, nil, append(strings.Fields(command), append(args, "--json")...)...)
			if r.code != 2 || r.out != "" || !strings.HasPrefix(r.err, says) {
				t.Errorf("amn %s --json: exit %d, %q, %q", command, r.code, r.out, r.err)
			}
		}
	}
	if out := amn(t, nil, "policy", "show", "server", "--json").out; out != load(t, filepath.Join(dir, "policy.json")) || !json.Valid([]byte(out)) {
		t.Errorf("policy show: %s", out)
	}
}
