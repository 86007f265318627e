// Build writes the page: one HTML file with the parser, compiled for browsers, and the code that shows
// its reports. The page works on any static host, and from a folder on disk.
package main

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the page's scripts
	"encoding/base64"
	"encoding/binary"
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
	//go:embed unpack.js
	unpack string
	//go:embed app.js
	app string
)

// Bounds of the compressed parser, since people wait for it to load. If there is no xz, gzip is used,
// whose result is half as large again.
const (
	maxWasm    = 2_850_000
	maxGzipped = 4_200_000
)

func main() {
	out := flag.String("o", "dist/index.html", "the page")
	plain := flag.Bool("gzip", false, "pack the parser as where there is no xz")
	npm := flag.String("npm", "", "write the package for npm into this folder, and no page")
	version := flag.String("version", "0.0.0", "the version of the package, without v")
	flag.Parse()
	err := error(nil)
	if *npm != "" {
		err = writePackage(*npm, *version)
	} else {
		err = build(*out, *plain)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func build(out string, plain bool) error {
	wasm, err := compile()
	if err != nil {
		return err
	}
	packed, how, most, err := pack(wasm, plain)
	if err != nil {
		return err
	}
	if len(packed) > most {
		return fmt.Errorf("the parser has %d bytes with %s, more than %d", len(packed), how, most)
	}
	runtime, err := goRuntime()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	err = page.WriteWith(&text, nil, page.Part{
		Script: app,
		Data: []page.Data{
			{ID: "worker", Text: base64.StdEncoding.EncodeToString([]byte(runtime + "\n" + unpack + "\n" + worker))},
			{ID: how, Text: base64.StdEncoding.EncodeToString(packed)},
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
	fmt.Printf("%s: %d bytes, the parser %d with %s\n", out, text.Len(), len(packed), how)
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
	return os.ReadFile(file)
}

// pack compresses the parser with the best program that this machine has. how is the method, by which
// the page finds the parser, and most the bound for the result.
func pack(wasm []byte, plain bool) (packed []byte, how string, most int, err error) {
	if _, err := exec.LookPath("xz"); plain || err != nil {
		fmt.Fprintln(os.Stderr, "build: without xz the page is half as large again")
		packed, err = gzipped(wasm)
		return packed, "gzip", maxGzipped, err
	}
	cmd := exec.Command("xz", "--format=lzma", "-9e", "--stdout")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(wasm), os.Stderr
	packed, err = cmd.Output()
	if err != nil {
		return nil, "", 0, fmt.Errorf("xz: %w", err)
	}
	// xz leaves the size in the header open, because it does not know it when it begins.
	binary.LittleEndian.PutUint64(packed[5:], uint64(len(wasm)))
	return packed, "lzma", maxWasm, nil
}

// gzipped packs by the program gzip where there is one: its result is smaller than that of the package.
func gzipped(text []byte) ([]byte, error) {
	if _, err := exec.LookPath("gzip"); err == nil {
		cmd := exec.Command("gzip", "-9", "--no-name", "--stdout")
		cmd.Stdin, cmd.Stderr = bytes.NewReader(text), os.Stderr
		return cmd.Output()
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

// goRuntime returns the script that runs programs of this version of Go in a browser.
func goRuntime() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	return string(text), err
}
