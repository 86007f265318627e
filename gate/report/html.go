package report

import (
	"bufio"
	_ "embed" // the head of the page
	"fmt"
	"html"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate"
)

// page writes a report for people as one HTML file, which can be mailed: what was refused and why,
// how it is mended or allowed, what was accepted, and what was skipped. It has no script, and its
// policy allows none. Files are written as they come; the style sorts them, refusals first.
type page struct {
	refused, warned, accepted, skipped int
	occur                              map[string]bool // the rules of reasons
}

// pageHead ends where the files begin.
//
//go:embed page.html
var pageHead string

func (p *page) begin(w *bufio.Writer, version string) {
	p.occur = map[string]bool{}
	w.WriteString(pageHead)
	fmt.Fprintf(w, "<header class=\"sum\"><h1>What a scan found</h1><p class=\"soft\">version %s</p></header>\n", html.EscapeString(version))
}

// levels are the reasons' levels as people read them.
var levels = map[string]string{"error": "refused", "warning": "warning", "note": "note", "ignored": "set aside by the policy"}

func (p *page) file(w *bufio.Writer, f *file) {
	kind, word := "accepted", "accepted"
	warned := false
	for i := range f.reasons {
		warned = warned || f.reasons[i].level != "note"
	}
	switch {
	case f.class != "ok":
		p.refused++
		kind, word = "refused", "refused ("+f.class+")"
	case f.harmless != "":
		p.skipped++
		kind, word = "skipped", "no model: "+f.harmless
	case warned:
		p.warned++
		kind, word = "warned", "accepted, with warnings"
	default:
		p.accepted++
	}
	fmt.Fprintf(w, "<article class=\"%s\"><h2><code>%s</code> <span class=\"soft\">%s</span></h2>", kind, html.EscapeString(f.path), html.EscapeString(word))
	if len(f.reasons) > 0 {
		w.WriteString("<ul>")
	}
	for i := range f.reasons {
		r := &f.reasons[i]
		p.occur[r.rule] = true
		fmt.Fprintf(w, "<li><span class=\"%s\">%s</span> %s <a class=\"soft\" href=\"#%s\">%s</a></li>", r.level, levels[r.level], html.EscapeString(r.sentence()), html.EscapeString(r.rule), html.EscapeString(r.rule))
	}
	if len(f.reasons) > 0 {
		w.WriteString("</ul>")
	}
	w.WriteString("</article>\n")
}

// end writes the rules that occur, and the counts, which the style shows first.
func (p *page) end(w *bufio.Writer) {
	if len(p.occur) > 0 {
		w.WriteString("<section class=\"rules\"><h2>What the rules say</h2>\n")
	}
	for _, r := range gate.Rules() {
		if !p.occur[r.ID] {
			continue
		}
		allow, member := r.Allow()
		if member != "" {
			member = " <code>" + html.EscapeString(member) + "</code>"
		}
		fmt.Fprintf(w, "<h3 id=\"%s\">%s</h3><dl><dt>what</dt><dd>%s</dd><dt>why it matters</dt><dd>%s</dd><dt>what to do</dt><dd>%s</dd><dt>to allow it</dt><dd>%s%s</dd></dl>\n",
			r.ID, r.ID, html.EscapeString(r.Title), html.EscapeString(r.Why), html.EscapeString(r.Advice), html.EscapeString(allow), member)
	}
	if len(p.occur) > 0 {
		w.WriteString("</section>\n")
	}
	var counts []string
	for _, c := range []struct {
		n    int
		what string
	}{{p.refused, "refused"}, {p.warned, "accepted with warnings"}, {p.accepted, "accepted"}, {p.skipped, "skipped, because no loader takes them for a model"}} {
		if c.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(counts) == 0 {
		counts = []string{"no file was judged"}
	}
	fmt.Fprintf(w, "<p class=\"sum\" role=\"status\"><b>Files: %s.</b></p>\n</main></body></html>\n", strings.Join(counts, ", "))
}
