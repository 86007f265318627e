package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"sync"
)

// The parts of the page. Script and style are separate files, because the page's policy
// allows them by hash.
var (
	//go:embed view/*.js
	scripts embed.FS
	//go:embed view/view.css
	style string
	//go:embed page.html
	frame string
)

// script is the view: its files in order, each of which knows those before it, as one function.
var script = sync.OnceValue(func() string {
	var all strings.Builder
	all.WriteString("\"use strict\";\nconst anamnesis = (() => {\n")
	for _, name := range []string{"base", "rows", "modules", "tree", "map", "drawing", "details", "verdict", "tensors", "compare", "show"} {
		text, err := scripts.ReadFile("view/" + name + ".js")
		if err != nil {
			panic("internal error: " + err.Error())
		}
		all.Write(text)
	}
	all.WriteString("})();\n")
	return all.String()
})

// A Part is a script that runs in a page after its own.
type Part struct {
	// Script runs after the view's.
	Script string
	// Data are texts that the script finds by id; their type is application/octet-stream.
	Data []Data
	// Policy has further directives of the page's policy, such as "worker-src blob:".
	Policy []string
	// Sources of scripts besides the hashes, such as "'wasm-unsafe-eval'".
	Sources []string
}

// Data is text in a page that is not shown. It must not contain "<".
type Data struct{ ID, Text string }

// Write writes the page of a report.
func Write(w io.Writer, r *Report) error {
	if r == nil {
		return errNoReport
	}
	text, err := json.Marshal(r) // escapes <, > and &: no text of the file ends the element
	if err != nil {
		return err
	}
	return WriteWith(w, text, Part{})
}

// WriteWith writes a page that shows a report, if there is one, and runs the script of p.
func WriteWith(w io.Writer, report []byte, p Part) error {
	all := []string{script()}
	if p.Script != "" {
		all = append(all, p.Script)
	}
	var body strings.Builder
	if len(report) > 0 {
		body.WriteString(`<script type="application/json" id="report">`)
		body.Write(bytes.ReplaceAll(report, []byte("<"), []byte(`\u003c`)))
		body.WriteString("</script>\n")
	}
	for _, d := range p.Data {
		body.WriteString(`<script type="application/octet-stream" id="` + d.ID + `">` + strings.ReplaceAll(d.Text, "<", "") + "</script>\n")
	}
	sources := p.Sources
	for _, s := range all {
		sources = append(sources, hash(s))
		body.WriteString("<script>" + s + "</script>\n")
	}
	policy := append([]string{
		"default-src 'none'", "base-uri 'none'", "form-action 'none'",
		"script-src " + strings.Join(sources, " "), "style-src " + hash(style),
	}, p.Policy...)
	_, err := strings.NewReplacer(
		"@POLICY@", strings.Join(policy, "; "), "@STYLE@", "<style>"+style+"</style>", "@BODY@", body.String(),
	).WriteString(w, frame)
	return err
}

// hash returns the hash of a text in the form of a Content-Security-Policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
