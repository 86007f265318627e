package report

import (
	"bufio"
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
const pageHead = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="amn"><title>What amn scan found</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>
:root { --ground: #fff; --raised: #f6f7f9; --line: #d8dce2; --text: #15181d; --soft: #59616d; --good: #176b38; --bad: #b3261e; --warn: #8a5a00 }
@media (prefers-color-scheme: dark) { :root { --ground: #14171b; --raised: #1d2127; --line: #363c46; --text: #e8eaee; --soft: #a0a9b6; --good: #6fce91; --bad: #ff8a80; --warn: #eab64e } }
body { font: 15px/1.5 system-ui, "Segoe UI", sans-serif; max-width: 70rem; margin: 0 auto; padding: 1.5rem; color: var(--text); background: var(--ground) }
main { display: flex; flex-direction: column }
h1 { font-size: 1.3rem; margin: 0 } h2 { font-size: 1rem; margin: 0; overflow-wrap: anywhere } h3 { font-size: .95rem; margin: 1rem 0 .2rem }
.soft { color: var(--soft) } code { font-size: .9em; overflow-wrap: anywhere }
.sum { order: 0; margin: .3rem 0 1rem }
article { border: 1px solid var(--line); border-left: 6px solid var(--soft); border-radius: 8px; background: var(--raised); padding: .7rem 1rem; margin: 0 0 .7rem; content-visibility: auto }
.refused { order: 1; border-left-color: var(--bad) } .warned { order: 2; border-left-color: var(--warn) } .rules { order: 3; margin-bottom: 1.2rem } .accepted { order: 4; border-left-color: var(--good) } .skipped { order: 5 }
article ul { margin: .4rem 0 0; padding: 0; list-style: none } article li { border-top: 1px solid var(--line); padding: .35rem 0; overflow-wrap: anywhere }
.accepted, .skipped { padding: .25rem 1rem; margin-bottom: .3rem }
.error { color: var(--bad); font-weight: 600 } .warning { color: var(--warn); font-weight: 600 } .note, .ignored { color: var(--soft); font-weight: 600 }
dl { margin: .2rem 0; display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem } dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere }
</style></head><body><main>
`

func (p *page) begin(w *bufio.Writer, version string) {
	p.occur = map[string]bool{}
	w.WriteString(pageHead)
	fmt.Fprintf(w, "<header class=\"sum\"><h1>What amn scan found</h1><p class=\"soft\">amn %s</p></header>\n", html.EscapeString(version))
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
