package cli_test

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/corpus"
)

// The pictures of the documents are what the program prints in a terminal, drawn: go test ./cli
// -run Pictures -update writes docs/pictures.
func TestPictures(t *testing.T) {
	pictures := []struct {
		name     string
		columns  int
		commands []string
	}{
		{"scan", 92, []string{"amn scan checkpoint.pt evil.pt"}},
		{"inspect", 92, []string{"amn inspect llama-fp8"}},
		{"compare", 92, []string{"amn quantize llama --compare nf4,fp4,mxfp4"}},
		{"rule", 92, []string{"amn rules pickle.global"}},
	}
	demo, err := filepath.Abs("../testdata/demo")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Abs("../docs/pictures")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(demo)); err != nil {
		t.Fatal(err)
	}
	for _, r := range corpus.Hostile("pickle") {
		if r.Name == "os-system" {
			write(t, filepath.Join(dir, "evil.pt"), string(r.Bytes()))
		}
	}
	t.Chdir(dir)
	if r := amn(t, nil, "dequantize", "llama-fp8", "-o", "llama"); r.code != 0 {
		t.Fatal(r.err)
	}
	for _, p := range pictures {
		var lines []string
		for i, command := range p.commands {
			var out bytes.Buffer
			cli.Main(t.Context(), split(t, command)[1:], cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &out, Columns: p.columns, Colours: true})
			if i > 0 {
				lines = append(lines, "")
			}
			lines = append(append(lines, "$ "+command), strings.Split(strings.TrimRight(took.ReplaceAllString(out.String(), ""), "\n"), "\n")...)
		}
		path, text := filepath.Join(docs, p.name+".svg"), drawn(strings.Join(p.commands, "; "), lines, p.columns)
		if *update {
			if err := os.MkdirAll(docs, 0o777); err != nil {
				t.Fatal(err)
			}
			write(t, path, text)
		}
		if have, err := os.ReadFile(path); err != nil || string(have) != text {
			t.Errorf("docs/pictures/%s.svg is not what the program prints (go test ./cli -run Pictures -update): %v", p.name, err)
		}
	}
}

// Sizes of a picture, in its own units.
const (
	charWidth, lineHeight = 8.4, 19.0
	margin, bar           = 18.0, 34.0
)

// sgr are the colours of a terminal, as the pictures have them.
var sgr = map[string]string{"31": "#ff8078", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff"}

var coloured = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// drawn is a terminal with these lines as an SVG.
func drawn(title string, lines []string, columns int) string {
	width, height := float64(columns)*charWidth+2*margin, float64(len(lines))*lineHeight+bar+margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" rx="9" fill="#161b22"/>`+"\n", width, height)
	for i, fill := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="17" r="5.5" fill="%s"/>`+"\n", 20+18*i, fill)
	}
	b.WriteString(`<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#d7dde4" xml:space="preserve">` + "\n")
	for i, line := range lines {
		y := bar + lineHeight*(float64(i)+0.75)
		at, fill, end := 0, "", 0
		span := func(text string) {
			if text == "" {
				return
			}
			style := ""
			if fill != "" {
				style = ` fill="` + fill + `"`
			}
			n := utf8.RuneCountInString(text)
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" textLength="%.1f"%s>%s</text>`+"\n", margin+float64(at)*charWidth, y, float64(n)*charWidth, style, html.EscapeString(text))
			at += n
		}
		if strings.HasPrefix(line, "$ ") {
			fill = "#8b949e"
			span("$ ")
			fill, end = "#ffffff", 2
		}
		for _, m := range coloured.FindAllStringSubmatchIndex(line, -1) {
			span(line[end:m[0]])
			fill, end = sgr[line[m[2]:m[3]]], m[1]
		}
		span(line[end:])
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}
