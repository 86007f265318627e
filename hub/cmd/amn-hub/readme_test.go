package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/hub/internal/pgtest"
)

// The commands of the documents print what they say. Those of blocks that are of Postgres have a
// database of their own.
func TestDocumentsAreTrue(t *testing.T) {
	program := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, least := range map[string]int{"README.md": 4, "docs/operators.md": 8, "docs/runbook.md": 18} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			ran := commands(t, program, string(text), "```console\n", "hub.db")
			if strings.Contains(string(text), "```console postgres\n") {
				ran += commands(t, program, string(text), "```console postgres\n", pgtest.Start(t).Address())
			}
			if ran < least {
				t.Errorf("%d commands", ran)
			}
		})
	}
}

// commands runs those of the blocks that begin alike, in a folder with models.
func commands(t *testing.T, program, text, begin, db string) (ran int) {
	header := `{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	dir := folder(t, map[string]string{
		"models/acme/encoder/config.json":       `{"model_type":"llama"}`,
		"models/acme/encoder/model.safetensors": string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + "12345678",
		"models/acme/classifier/model.pkl":      "cos\nsystem\n(S'id'\ntR.",
		"models/acme/classifier/README.md":      "A classifier.\n",
	})
	for _, block := range strings.Split(text, begin)[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+program+":"+os.Getenv("PATH"), "AMN_HUB_DB="+db)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			cmd.Run() // exit 7 is what a refusal gives
			if got := trimmed(out.String()); got != trimmed(want) {
				t.Errorf("$ %s\n%s\nthe document says:\n%s\n%s", command, got, trimmed(want), errs.String())
			}
			ran++
		}
	}
	return ran
}

// trimmed is a text without the spaces at the ends of its lines.
func trimmed(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimRight(line, " \n"))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}
