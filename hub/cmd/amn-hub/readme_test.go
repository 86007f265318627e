package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of README print what it says.
func TestReadmeIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	header := `{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	for name, content := range map[string]string{
		"models/acme/encoder/config.json":       `{"model_type":"llama"}`,
		"models/acme/encoder/model.safetensors": string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + "12345678",
		"models/acme/classifier/model.pkl":      "cos\nsystem\n(S'id'\ntR.",
		"models/acme/classifier/README.md":      "A classifier.\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for _, block := range strings.Split(string(text), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			var out bytes.Buffer
			cmd.Stdout = &out
			cmd.Run() // exit 7 is what a refusal gives
			if got := trimmed(out.String()); got != trimmed(want) {
				t.Errorf("$ %s\n%s\nREADME says:\n%s", command, got, trimmed(want))
			}
			ran++
		}
	}
	if ran < 4 {
		t.Errorf("%d commands", ran)
	}
}

// trimmed is a text without the spaces at the ends of its lines.
func trimmed(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimRight(line, " \n"))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}
