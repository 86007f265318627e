package browse

import (
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/width"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A span is a styled piece of a line.
type span struct {
	text  string
	style Style
}

// sgr has the attributes of the styles (ECMA-48); the colours are the last.
var sgr = [...]string{Plain: "", Bold: "1", Dim: "2", Selected: "7", Bad: "31", Warning: "33", Note: "36", Good: "32"}

// Draw returns the lines of the terminal, none wider than it. The only control sequences are
// the attributes of the styles.
func (m *Model) Draw() []string {
	var lines [][]span
	switch {
	case m.helping:
		lines = m.drawHelp()
	case m.page != nil:
		lines = m.drawPage()
	default:
		lines = m.drawList()
	}
	if len(lines) > m.height { // a terminal too low for title, tabs, heads and foot
		lines = append(lines[:m.height-1:m.height-1], lines[len(lines)-1])
	}
	out := make([]string, m.height)
	for i := range lines {
		out[i] = m.paintLine(lines[i])
	}
	return out
}

// paintLine returns a line as text, cut to the terminal's width.
func (m *Model) paintLine(line []span) string {
	var out strings.Builder
	left := m.width
	for _, p := range line {
		text := width.Cut(safe(p.text), left)
		left -= width.Of(text)
		code := sgr[p.style]
		if p.style >= Bad && !m.Colours {
			code = ""
		}
		if code == "" || text == "" {
			out.WriteString(text)
		} else {
			out.WriteString("\x1b[" + code + "m" + text + "\x1b[0m")
		}
	}
	return out.String()
}

// safe returns text without characters that control a terminal.
func safe(s string) string { return wire.Text(s, 8*len(s)+16) }

func (m *Model) barLine(text string) []span {
	return []span{{width.Pad(width.Cut(safe(text), m.width), m.width), Selected}}
}

// drawList draws the title, the tabs, the heads, the rows and the foot.
func (m *Model) drawList() [][]span {
	t, s := &m.tabs[m.tab], &m.states[m.tab]
	lines := [][]span{{{width.Middle(safe(m.title), m.width), Bold}}, m.drawTabs()}
	cols := m.columns(t)
	lines = append(lines, m.drawHeads(t, s, cols))
	high := max(min(m.visibleRows(), m.height-chrome), 0)
	n := m.count()
	for i := s.top; i < min(s.top+high, n); i++ {
		lines = append(lines, m.drawRow(t, cols, s.row(i), i == s.cursor))
	}
	if n == 0 && high > 0 {
		text := t.Empty
		if t.Len > 0 {
			text = "No row has all of these words."
		}
		lines = append(lines, []span{{"  " + text, Dim}})
	}
	for len(lines) < m.height-1 {
		lines = append(lines, nil)
	}
	return append(lines, m.drawFoot(s, n))
}

// drawTabs draws the titles of the tabs. If the open one does not fit, those before it are left
// out.
func (m *Model) drawTabs() []span {
	var line []span
	used := 0
	for i := range m.tabs {
		text := fmt.Sprintf(" %d %s ", i+1, m.tabs[i].Title)
		style := Plain
		if i == m.tab {
			style = Selected
			if used+width.Of(text) > m.width {
				line = nil
			}
		}
		used += width.Of(text)
		line = append(line, span{text, style})
	}
	return line
}

func (m *Model) drawFoot(s *state, n int) []span {
	switch {
	case m.searching:
		return []span{{"/" + s.search + "_", Plain}, {fmt.Sprintf("  %d found; enter keeps, esc clears", n), Dim}}
	case m.status != "":
		return m.barLine(m.status)
	}
	place := fmt.Sprintf("%d/%d", min(s.cursor+1, n), n)
	if s.search != "" {
		place += " /" + s.search
	}
	return m.barLine(place + "  enter open  / search  s sort  r reverse  tab next  ? help  q quit")
}

// minFlexible is the least width of the flexible column; below it, other columns are dropped.
const minFlexible = 32

// columns returns the widths of the columns on this terminal, 0 for a dropped column.
func (m *Model) columns(t *TabOf) []int {
	widths := make([]int, len(t.Columns))
	most, flex := 0, -1
	for i, c := range t.Columns {
		widths[i] = c.Width
		most = max(most, c.Drop)
		if c.Width == 0 {
			flex = i
		}
	}
	for drop := most; flex >= 0; drop-- {
		left := m.width - 1 // the row begins with a space
		for i, w := range widths {
			if w > 0 && i != flex {
				left -= w + 1
			}
		}
		widths[flex] = max(left, 1)
		if left >= minFlexible || drop == 0 {
			return widths
		}
		for i, c := range t.Columns {
			if c.Drop == drop {
				widths[i] = 0
			}
		}
	}
	return widths
}

func (m *Model) drawHeads(t *TabOf, s *state, cols []int) []span {
	text := " "
	for i, c := range t.Columns {
		if cols[i] == 0 {
			continue
		}
		title := c.Title
		if s.sort == i {
			title += map[bool]string{false: " ▲", true: " ▼"}[s.descending]
		}
		text += fill(title, cols[i], c.Right, false) + " "
	}
	return []span{{strings.TrimRight(text, " "), Dim}}
}

func (m *Model) drawRow(t *TabOf, cols []int, row int, chosen bool) []span {
	text := " "
	for i, c := range t.Columns {
		if cols[i] > 0 {
			text += fill(safe(t.Cell(row, i)), cols[i], c.Right, c.Names) + " "
		}
	}
	text = strings.TrimRight(text, " ")
	switch {
	case chosen:
		return m.barLine(text)
	case t.Style != nil:
		return []span{{text, t.Style(row)}}
	}
	return []span{{text, Plain}}
}

// fill cuts or pads a text to the width of a column.
func fill(s string, n int, right, name bool) string {
	if name {
		s = width.Name(s, n)
	} else {
		s = width.Cut(s, n)
	}
	if right {
		return strings.Repeat(" ", max(n-width.Of(s), 0)) + s
	}
	return width.Pad(s, n)
}

// drawPage draws the visible part of the open page.
func (m *Model) drawPage() [][]span {
	lines := [][]span{{{width.Middle(safe(m.page.Title), m.width), Bold}}, nil}
	last := m.lastTop()
	m.top = max(min(m.top, last), 0)
	for _, l := range m.folds[m.top:min(m.top+max(m.height-3, 0), len(m.folds))] {
		lines = append(lines, []span{l})
	}
	for len(lines) < m.height-1 {
		lines = append(lines, nil)
	}
	if m.status != "" {
		return append(lines, m.barLine(m.status))
	}
	place := ""
	if last > 0 {
		place = fmt.Sprintf("%d%%  ", 100*m.top/last)
	}
	return append(lines, m.barLine(place+"esc back  n next  p previous  space on  ? help  q quit"))
}

// lastTop returns the first visible line when the page is scrolled to its end.
func (m *Model) lastTop() int {
	if m.folds == nil || m.foldedAt != m.width {
		m.foldPage()
	}
	return max(len(m.folds)-max(m.height-3, 0), 0)
}

// foldPage breaks the page's lines at the terminal's width.
func (m *Model) foldPage() {
	m.folds, m.foldedAt = []span{}, m.width
	for _, l := range m.page.Lines {
		rest := safe(l.Text)
		for {
			var line string
			line, rest = split(rest, m.width)
			if m.folds = append(m.folds, span{line, l.Style}); rest == "" {
				break
			}
		}
	}
}

// split splits off a line of at most n columns: up to a space if there is one, else within a
// word, and at least one character.
func split(s string, n int) (line, rest string) {
	used, space := 0, 0
	for i, r := range s {
		if r == ' ' && used <= n && strings.TrimLeft(s[:i], " ") != "" {
			space = i
		}
		if used += width.Rune(r); used > n {
			if space > 0 {
				return s[:space], strings.TrimLeft(s[space:], " ")
			}
			if i > 0 {
				return s[:i], s[i:]
			}
		}
	}
	return s, ""
}

// help describes the keys.
var help = [][2]string{
	{"up, down, j, k", "a row up, a row down"},
	{"space, b, page keys", "a page down, a page up"},
	{"g, G, home, end", "the first, the last"},
	{"tab, 1 to 9", "the next tab, a tab by its number"},
	{"/", "search: rows that have all words"},
	{"esc", "clear the search; from a page back to the list"},
	{"s, r", "sort by the next column; reverse the order"},
	{"enter", "open the row"},
	{"n, p", "on a page: the page of the next or the previous row"},
	{"v", "judge the file as a scan does, which reads all of it"},
	{"q, ctrl-c", "quit"},
}

func (m *Model) drawHelp() [][]span {
	lines := [][]span{{{"Keys", Bold}}, nil}
	for _, k := range help {
		if m.width < 50 {
			lines = append(lines, []span{{k[0] + ": " + k[1], Plain}})
			continue
		}
		lines = append(lines, []span{{"  " + width.Pad(k[0], 22), Note}, {k[1], Plain}})
	}
	for len(lines) < m.height-1 {
		lines = append(lines, nil)
	}
	return append(lines, m.barLine("any key goes back"))
}
