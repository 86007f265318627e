package handler_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// around is what a host has besides the lines of docs/hosts.md.
const around = `package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
)

func main() {
	store := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintln(w, "stored", len(body), err)
	})
	mux := http.NewServeMux()
%s
	if err != nil {
		panic(err)
	}
	defer h.Close()
	for _, body := range []string{"\x02\x00\x00\x00\x00\x00\x00\x00{}", "cos\nsystem\n(S'id'\ntR."} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("PUT", "/models/m.safetensors", strings.NewReader(body)))
		fmt.Println(w.Code, strings.HasPrefix(w.Body.String(), "stored 10 <nil>"))
	}
}
`

// The lines that docs/hosts.md shows are the output of a host.
func TestTheExampleOfThePageIsAWorkingHost(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	page, err := os.ReadFile("../../docs/hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, lines, found := strings.Cut(string(page), "```go\n")
	lines, _, ends := strings.Cut(lines, "```")
	if !found || !ends {
		t.Fatal("the page shows no Go")
	}
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte(strings.Replace(around, "%s", lines, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", path).CombinedOutput()
	if err != nil || string(out) != "200 true\n403 false\n" {
		t.Errorf("%v: %s", err, out)
	}
}
