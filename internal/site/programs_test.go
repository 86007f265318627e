package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const ours = "github.com/anamnesis-go/anamnesis/"

var (
	goBlock  = regexp.MustCompile("(?ms)^```go\n(.*?)^```")
	declared = regexp.MustCompile(`(?m)^(\w+(?:, \w+)*) := `)
	// What the blocks of the guides take from around them.
	around = "ctx context.Context, path, name string, policy gate.Policy, file io.ReaderAt, size int64, store http.Handler, mux *http.ServeMux, m tensor.Model, b *limits.Budget, pem, body, envelope []byte, nonce, expected string"
	homes  = []string{
		"context", "crypto/sha256", "io", "log", "net/http", "time", ours + "gate", ours + "gate/handler", ours + "gate/host", ours + "gate/receipt", ours + "limits", ours + "parser", ours + "parser/tensor",
	}
)

// What the guides show of Go compiles.
func TestTheProgramsOfTheGuidesCompile(t *testing.T) {
	s, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, replaced := t.TempDir(), map[string]string{}
	for _, file := range s.order {
		text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range goBlock.FindAllStringSubmatch(string(text), -1) {
			name := fmt.Sprintf("p%d.go", len(replaced))
			program := "package programs\n\n" + compiled(m[1], fmt.Sprintf("block%d", len(replaced)))
			if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, "%s\n// block %d of %s\n", program, i, file), 0o600); err != nil {
				t.Fatal(err)
			}
			replaced[filepath.Join(here, "programs", name)] = filepath.Join(dir, name)
		}
	}
	if len(replaced) < 5 {
		t.Errorf("only %d blocks", len(replaced))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "./programs").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// compiled makes a function of a block, which uses all that the block declares.
func compiled(block, name string) string {
	block = strings.ReplaceAll(block, "\t...\n", "\t_, _ = body, err\n")
	text := "func " + name + "(" + around + ") error {\n\t{\n" + block
	for _, m := range declared.FindAllStringSubmatch(block, -1) {
		for _, v := range strings.Split(m[1], ", ") {
			text += "\t_ = " + v + "\n"
		}
	}
	text += "\t}\n\treturn nil\n}\n"
	imports := ""
	for _, home := range homes {
		short := path.Base(home)
		if regexp.MustCompile(`\b`+short+`\.[A-Z]`).MatchString(text) && !strings.Contains(block, short+" := ") {
			imports += fmt.Sprintf("import %q\n", home)
		}
	}
	return imports + "\n" + text
}
