package main

import (
	"encoding/base64"
	"fmt"
	"html"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A renderer converts the Markdown of these documents to HTML: headings, paragraphs, lists,
// tables, code, and a line with an image for a picture. Anything else is text; nothing in a
// document is taken for HTML.
type renderer struct {
	site  *site
	page  *page
	lines []string
	at    int
	out   strings.Builder
}

func (r *renderer) render(text string) string {
	r.lines = strings.Split(strings.TrimRight(text, "\n"), "\n")
	for r.at < len(r.lines) {
		line := r.lines[r.at]
		switch {
		case strings.TrimSpace(line) == "":
			r.at++
		case strings.HasPrefix(line, "```"):
			r.fence()
		case strings.HasPrefix(line, "#"):
			r.heading(line)
		case strings.HasPrefix(line, "    "):
			r.indented()
		case strings.HasPrefix(line, "|"):
			r.table()
		case item.MatchString(line):
			r.list()
		case picture.MatchString(line):
			r.draw(line)
		case strings.Trim(line, "-") == "" && len(line) >= 3:
			r.out.WriteString("<hr>\n")
			r.at++
		default:
			r.paragraph()
		}
	}
	return r.out.String()
}

var (
	item    = regexp.MustCompile(`^( *)([-*]|\d+\.) +`)
	picture = regexp.MustCompile(`^!\[([^\]]*)\]\(([\w./-]+\.(?:svg|png))\)$`)
	remark  = regexp.MustCompile(`(^|\s)\s*# `)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func (r *renderer) heading(line string) {
	text := strings.TrimLeft(line, "#")
	level := len(line) - len(text)
	text = strings.TrimSpace(text)
	slug := strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
	id := slug
	for n := 1; slices.Contains(r.page.anchors, id); n++ {
		id = fmt.Sprintf("%s-%d", slug, n) // as GitHub names a second heading of the same words
	}
	r.page.anchors = append(r.page.anchors, id)
	inner := r.inline(text)
	r.page.headings = append(r.page.headings, heading{level: level, id: id, text: plain(inner)})
	fmt.Fprintf(&r.out, "<h%d id=\"%s\">%s</h%d>\n", level, html.EscapeString(id), inner, level)
	r.at++
}

// fence renders a block of code between two lines of backquotes.
func (r *renderer) fence() {
	words := strings.Fields(strings.Trim(r.lines[r.at], "`"))
	kind := ""
	if len(words) > 0 {
		kind = words[0]
	}
	var code []string
	for r.at++; r.at < len(r.lines) && !strings.HasPrefix(r.lines[r.at], "```"); r.at++ {
		code = append(code, r.lines[r.at])
	}
	r.at++
	r.code(kind, code)
}

func (r *renderer) indented() {
	var code []string
	for ; r.at < len(r.lines) && (strings.HasPrefix(r.lines[r.at], "    ") || r.lines[r.at] == ""); r.at++ {
		code = append(code, strings.TrimPrefix(r.lines[r.at], "    "))
	}
	for len(code) > 0 && code[len(code)-1] == "" {
		code = code[:len(code)-1]
	}
	r.code("", code)
}

// code writes lines of code: typed commands of a console are bold, comments of a shell are dim.
// The page's script adds a button to commands that copies them.
func (r *renderer) code(kind string, lines []string) {
	class := ""
	if kind == "sh" || kind == "console" {
		class = ` class="commands"`
	}
	r.out.WriteString("<pre" + class + " tabindex=\"0\"><code>")
	for _, line := range lines {
		text := html.EscapeString(line)
		switch {
		case kind == "console" && strings.HasPrefix(line, "$ "):
			text = `<span class="in">` + text + "</span>"
		case kind == "sh":
			if at := remark.FindStringIndex(line); at != nil {
				text = html.EscapeString(line[:at[0]]) + `<span class="no">` + html.EscapeString(line[at[0]:]) + "</span>"
			}
		case kind == "diff" && strings.HasPrefix(line, "+"):
			text = `<span class="add">` + text + "</span>"
		case kind == "diff" && strings.HasPrefix(line, "-"):
			text = `<span class="del">` + text + "</span>"
		}
		r.out.WriteString(text + "\n")
	}
	r.out.WriteString("</code></pre>\n")
}

func (r *renderer) table() {
	var rows [][]string
	for ; r.at < len(r.lines) && strings.HasPrefix(r.lines[r.at], "|"); r.at++ {
		rows = append(rows, cells(r.lines[r.at]))
	}
	if len(rows) > 1 {
		rows = append(rows[:1], rows[2:]...) // without the line of dashes
	}
	r.out.WriteString("<div class=\"wide\" tabindex=\"0\"><table>\n")
	for n, row := range rows {
		cell := "td"
		if n == 0 {
			cell = "th"
		}
		r.out.WriteString("<tr>")
		for i, c := range row {
			class, tag := "", cell
			if figures(rows[1:], i) {
				class = ` class="figure"`
			}
			if c == "" {
				tag = "td" // a heading without a text is an error for screen readers
			}
			fmt.Fprintf(&r.out, "<%s%s>%s</%s>", tag, class, r.inline(c), tag)
		}
		r.out.WriteString("</tr>\n")
	}
	r.out.WriteString("</table></div>\n")
}

var figure = regexp.MustCompile(`^(\*\*)?[\d.,]+(\*\*)?( ?(x|%|s|ms|[KMG]i?B|kB))?( \([\d.,]+x?\))?$|^-?$`)

// figures reports whether column i has only numbers, which are aligned right.
func figures(rows [][]string, i int) bool {
	for _, row := range rows {
		if i >= len(row) || !figure.MatchString(row[i]) {
			return false
		}
	}
	return len(rows) > 1
}

// cells splits a row at its bars, except those after a backslash.
func cells(row string) []string {
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	var out []string
	for _, c := range strings.Split(strings.ReplaceAll(row, `\|`, "\x00"), "|") {
		out = append(out, strings.ReplaceAll(strings.TrimSpace(c), "\x00", "|"))
	}
	return out
}

// list renders one level of items, whose further lines are indented. An item that is indented
// deeper begins a nested list.
func (r *renderer) list() {
	m := item.FindStringSubmatch(r.lines[r.at])
	depth, tag := len(m[1]), "ul"
	if m[2] != "-" && m[2] != "*" {
		tag = "ol"
	}
	r.out.WriteString("<" + tag + ">\n")
	for r.at < len(r.lines) {
		m := item.FindStringSubmatch(r.lines[r.at])
		if m == nil || len(m[1]) < depth {
			break
		}
		text := []string{r.lines[r.at][len(m[0]):]}
		for r.at++; r.at < len(r.lines); r.at++ {
			next := r.lines[r.at]
			if strings.TrimSpace(next) == "" || item.MatchString(next) || !strings.HasPrefix(next, strings.Repeat(" ", depth+2)) {
				break
			}
			text = append(text, strings.TrimSpace(next))
		}
		r.out.WriteString("<li>" + r.inline(strings.Join(text, "\n")))
		if r.at < len(r.lines) {
			if m := item.FindStringSubmatch(r.lines[r.at]); m != nil && len(m[1]) > depth {
				r.out.WriteString("\n")
				r.list()
			}
		}
		r.out.WriteString("</li>\n")
		if r.at+1 < len(r.lines) && r.lines[r.at] == "" && item.MatchString(r.lines[r.at+1]) {
			r.at++
		}
	}
	r.out.WriteString("</" + tag + ">\n")
}

// draw embeds a picture in the page: an SVG as markup, with the colours of the page's style, a
// PNG as data.
func (r *renderer) draw(line string) {
	m := picture.FindStringSubmatch(line)
	data, err := os.ReadFile(filepath.Join(r.site.root, filepath.FromSlash(path.Join(path.Dir(r.page.file), m[2]))))
	if err != nil {
		r.page.links = append(r.page.links, m[2]) // which the test finds missing
	}
	r.at++
	if strings.HasSuffix(m[2], ".png") {
		fmt.Fprintf(&r.out, "<p><img alt=\"%s\" src=\"data:image/png;base64,%s\"></p>\n", html.EscapeString(m[1]), base64.StdEncoding.EncodeToString(data))
		return
	}
	_, svg, _ := strings.Cut(string(data), "<svg")
	class := "terminal"
	before, after, styled := strings.Cut(svg, "<style")
	if styled {
		_, after, _ = strings.Cut(after, "</style>")
		svg, class = before+after, "drawing"
	}
	svg = svgRole.ReplaceAllString(svgTitle.ReplaceAllString(svg, ""), "$1")
	fmt.Fprintf(&r.out, "<div class=\"wide\" tabindex=\"0\"><svg class=\"%s\" role=\"img\" aria-label=\"%s\"%s</div>\n", class, html.EscapeString(m[1]), strings.TrimSpace(svg))
}

var (
	svgTitle = regexp.MustCompile(`<title>[^<]*</title>\n?`)
	svgRole  = regexp.MustCompile(`^([^>]*) role="img"`)
)

func (r *renderer) paragraph() {
	var text []string
	for ; r.at < len(r.lines); r.at++ {
		line := r.lines[r.at]
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") || item.MatchString(line) {
			break
		}
		text = append(text, line)
	}
	r.out.WriteString("<p>" + r.inline(strings.Join(text, "\n")) + "</p>\n")
}
