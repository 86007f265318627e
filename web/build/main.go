// Build writes the page: one HTML file that holds the parser, compiled for browsers,
// and all that shows its reports. It works from any static host and from a folder.
package main

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the page's scripts
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate/page"
)

var (
	//go:embed worker.js
	worker string
	//go:embed app.js
	app string
)

// maxWasm is how large the parser may be, compressed: people wait for it. The goal is
// 1.6 MB; Go's runtime and its tables, encoding/json and the decoders of packed files
// that the gate looks into take what is above.
const maxWasm = 2_250_000

func main() {
	out := flag.String("o", "dist/index.html", "the page")
	flag.Parse()
	if err := build(*out); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func build(out string) error {
	wasm, err := compile()
	if err != nil {
		return err
	}
	if len(wasm) > maxWasm {
		return fmt.Errorf("the parser has %d bytes compressed, more than %d", len(wasm), maxWasm)
	}
	runtime, err := goRuntime()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	err = page.WriteWith(&text, nil, page.Part{
		Script: app,
		Data: []page.Data{
			{ID: "worker", Text: base64.StdEncoding.EncodeToString([]byte(runtime + "\n" + worker))},
			{ID: "wasm", Text: base64.StdEncoding.EncodeToString(wasm)},
		},
		Sources: []string{"'wasm-unsafe-eval'"},
		Policy:  []string{"worker-src blob:"},
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes, the parser %d compressed\n", out, text.Len(), len(wasm))
	return os.WriteFile(out, text.Bytes(), 0o666)
}

// compile builds the parser. The same sources give the same bytes.
func compile() ([]byte, error) {
	dir, err := os.MkdirTemp("", "anamnesis-web-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "amn.wasm")
	cmd := exec.Command("go", "build", "-tags=page", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-gcflags=all=-l", "-o", file, "github.com/anamnesis-go/anamnesis/web/wasm")
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// goRuntime is what runs programs of this Go in a browser.
func goRuntime() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	return string(text), err
}
