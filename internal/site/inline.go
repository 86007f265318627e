package main

import (
	"html"
	"regexp"
	"strings"
)

var (
	span   = regexp.MustCompile("(?s)(`+)(.+?)(`+)")
	link   = regexp.MustCompile(`(?s)\[([^\]]+)\]\(([^)\s]+)\)`)
	bold   = regexp.MustCompile(`(?s)\*\*(.+?)\*\*`)
	italic = regexp.MustCompile(`(?s)(^|[\s(])\*([^*\s][^*]*)\*`)
)

// inline returns text as HTML, with code, links and emphasis. Code is replaced by placeholders
// first, since Markdown has no meaning in it.
func (r *renderer) inline(text string) string {
	var kept []string
	keep := func(markup string) string {
		kept = append(kept, markup)
		return "\x00" + string(rune(0xE000+len(kept)-1)) + "\x00"
	}
	text = span.ReplaceAllStringFunc(text, func(s string) string {
		m := span.FindStringSubmatch(s)
		if m[1] != m[3] {
			return s
		}
		return keep("<code>" + breakable(strings.ReplaceAll(m[2], `\|`, "|")) + "</code>")
	})
	text = html.EscapeString(text)
	text = link.ReplaceAllStringFunc(text, func(s string) string {
		m := link.FindStringSubmatch(s)
		to := html.UnescapeString(m[2])
		r.page.links = append(r.page.links, to)
		return `<a href="` + html.EscapeString(r.site.target(r.page, to)) + `">` + m[1] + "</a>"
	})
	text = bold.ReplaceAllString(text, "<strong>$1</strong>")
	text = italic.ReplaceAllString(text, "$1<em>$2</em>")
	text = strings.NewReplacer(`\*`, "*", `\_`, "_", `\[`, "[").Replace(text)
	for i := len(kept) - 1; i >= 0; i-- {
		text = strings.Replace(text, "\x00"+string(rune(0xE000+i))+"\x00", kept[i], 1)
	}
	return text
}

// wordEnd is a place where the next word of a name begins: parser/npz.TestHostileArchives.
var wordEnd = regexp.MustCompile(`[a-z0-9][./]?[A-Z]|[./][a-z]`)

// breakable escapes code. A long name may break between its words: in a table, one that may not
// takes the width of the other columns.
func breakable(code string) string {
	const long = 40
	if len(code) <= long || strings.Contains(code, " ") {
		return html.EscapeString(code)
	}
	var out strings.Builder
	from := 0
	for _, at := range wordEnd.FindAllStringIndex(code, -1) {
		out.WriteString(html.EscapeString(code[from:at[1]-1]) + "<wbr>")
		from = at[1] - 1
	}
	return out.String() + html.EscapeString(code[from:])
}
