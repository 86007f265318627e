package browse

import (
	"fmt"
	"slices"
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
	case m.reading && m.page != nil:
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

// cutLine cuts or fills a line to a number of columns.
func cutLine(line []span, columns int) (out []span) {
	for _, p := range line {
		text := width.Cut(safe(p.text), columns)
		columns -= width.Of(text)
		out = append(out, span{text, p.style})
	}
	return append(out, span{strings.Repeat(" ", max(columns, 0)), Plain})
}

// safe returns text without characters that control a terminal.
func safe(s string) string { return wire.Text(s, 8*len(s)+16) }

func (m *Model) barLine(text string) []span { return bar(text, m.width) }

func bar(text string, columns int) []span {
	return []span{{width.Pad(width.Cut(safe(text), columns), columns), Selected}}
}

// drawList draws the title, the tabs, the heads, the rows with the pane, and the foot.
func (m *Model) drawList() [][]span {
	t, s, l := &m.tabs[m.tab], &m.states[m.tab], m.layout()
	lines := [][]span{m.drawTitle(), m.drawTabs()}
	list := m.drawRows(t, s, l)
	n := m.count()
	if n == 0 && len(list) > 1 {
		text := t.Empty
		if t.Len > 0 {
			text = "No row has all of these words."
		}
		list[1] = []span{{"  " + text, Dim}}
	}
	switch {
	case l.pane > 0:
		pane := m.drawPane(max(m.height-chrome, 0))
		for i := range list {
			line := append(cutLine(list[i], l.list), span{"│", Dim})
			if i == 0 {
				line = append(line, m.paneTitle(l.pane)...)
			} else if i <= len(pane) {
				line = append(line, span{" ", Plain}, pane[i-1])
			}
			lines = append(lines, line)
		}
	case l.below > 0:
		lines = append(append(lines, list...), m.paneTitle(m.width))
		for _, p := range m.drawPane(l.below - 1) {
			lines = append(lines, []span{p})
		}
	default:
		lines = append(lines, list...)
	}
	for len(lines) < m.height-1 {
		lines = append(lines, nil)
	}
	return append(lines, m.drawFoot(s, n))
}

// drawTitle draws the title, and the verdict at the right.
func (m *Model) drawTitle() []span {
	verdict := safe(m.verdict.Text)
	room := max(m.width-width.Of(verdict)-2, 0)
	if verdict == "" || room == 0 {
		return []span{{width.Middle(safe(m.title), m.width), Bold}}
	}
	return []span{{width.Middle(safe(m.title), room), Bold}, {"  ", Plain}, {verdict, m.verdict.Style}}
}

// drawRows draws the heads and the rows of a list.
func (m *Model) drawRows(t *TabOf, s *state, l layout) [][]span {
	high := max(min(l.rows, m.height-chrome), 0)
	lines := make([][]span, 1, high+1)
	columns := t.Columns
	tree := m.tree()
	if tree != nil {
		columns = tree.Columns
	}
	cols := layColumns(columns, l.list)
	lines[0] = drawHeads(columns, s, tree, cols)
	for i := s.top; i < min(s.top+high, m.count()); i++ {
		if tree != nil {
			lines = append(lines, m.drawNode(tree, cols, &tree.nodes[i], i == s.cursor, l.list))
		} else {
			lines = append(lines, m.drawRow(t, cols, s.row(i), i == s.cursor, l.list))
		}
	}
	for len(lines) < high+1 {
		lines = append(lines, nil)
	}
	return lines
}

// drawTabs draws the titles of the tabs. If the open one does not fit, those before it are left
// out.
func (m *Model) drawTabs() []span {
	var line []span
	used := 0
	m.spots = m.spots[:0]
	for i := range m.tabs {
		text := fmt.Sprintf(" %d %s ", i+1, safe(m.tabs[i].Title))
		style := Plain
		if i == m.tab {
			style = Selected
			if used+width.Of(text) > m.width {
				line, used, m.spots = nil, 0, m.spots[:0]
			}
		}
		m.spots = append(m.spots, spot{used, used + width.Of(text), i})
		used += width.Of(text)
		line = append(line, span{text, style})
	}
	return line
}

// hints are the keys that the foot names, the most needed first.
var hints = []string{"? help", "enter open", "/ search", "m mark", "s sort", "v judge", "q quit", "` list", "tab next"}

// pageHints are those of a page.
var pageHints = []string{"esc back", "n next", "p previous", "? help", "e all numbers", "space on", "q quit"}

// footLine adds as many hints as there is room for.
func (m *Model) footLine(text string, hints []string) []span {
	for _, h := range hints {
		if longer := words(text, h); width.Of(longer) <= m.width {
			text = longer
		}
	}
	return m.barLine(text)
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
		place += " /" + safe(s.search)
	}
	if len(m.marked) > 0 {
		place = words(place, fmt.Sprintf("%d marked", len(m.marked)))
	}
	return m.footLine(place, hints)
}

// minFlexible is the least width of the flexible column; below it, other columns are dropped. In
// a narrow list it is a third of it, or leastFlexible.
const minFlexible, leastFlexible = 32, 22

// layColumns returns the widths of the columns of a list this wide, 0 for a dropped column.
func layColumns(columns []Column, room int) []int {
	widths := make([]int, len(columns))
	most, flex := 0, -1
	for i, c := range columns {
		widths[i] = c.Width
		if c.Names && c.Width > 0 {
			widths[i] = min(c.Width, max(room/2, 1))
		}
		most = max(most, c.Drop)
		if c.Width == 0 {
			flex = i
		}
	}
	for drop := most; flex >= 0; drop-- {
		left := room - 1 // the row begins with a space
		for i, w := range widths {
			if w > 0 && i != flex {
				left -= w + 1
			}
		}
		widths[flex] = max(left, 1)
		if left >= min(minFlexible, max(room/3, leastFlexible)) || drop == 0 {
			return widths
		}
		for i, c := range columns {
			if c.Drop == drop {
				widths[i] = 0
			}
		}
	}
	return widths
}

func drawHeads(columns []Column, s *state, tree *Tree, cols []int) []span {
	text := " "
	for i, c := range columns {
		if cols[i] == 0 {
			continue
		}
		title := c.Title
		if tree == nil && s.sort == i {
			title += map[bool]string{false: " ▲", true: " ▼"}[s.descending]
		}
		if tree != nil && c.Compare != nil && tree.bySize {
			title += " ▼"
		}
		text += fill(safe(title), cols[i], c.Right, false) + " "
	}
	return []span{{strings.TrimRight(text, " "), Dim}}
}

func (m *Model) drawRow(t *TabOf, cols []int, row int, chosen bool, room int) []span {
	text := " "
	if m.tab == 0 && m.marked[row] {
		text = "●"
	}
	for i, c := range t.Columns {
		if cols[i] > 0 {
			text += fill(safe(t.Cell(row, i)), cols[i], c.Right, c.Names) + " "
		}
	}
	style := Plain
	if t.Style != nil {
		style = t.Style(row)
	}
	return rowLine(text, chosen, style, room)
}

func rowLine(text string, chosen bool, style Style, room int) []span {
	text = strings.TrimRight(text, " ")
	if chosen {
		return bar(text, room)
	}
	return []span{{text, style}}
}

// drawNode draws a module or a row of a tree.
func (m *Model) drawNode(t *Tree, cols []int, n *Node, chosen bool, room int) []span {
	t.count(n)
	text := m.markOf(t, n)
	sign := "  "
	if n.Row < 0 {
		sign = map[bool]string{false: "▸ ", true: "▾ "}[n.opened]
	}
	label := t.label(n)
	if label == "" {
		label = "·" // a tensor with the name of the module that it lies in
	}
	indent := min(2*n.depth, cols[0]/3)
	label = strings.Repeat(" ", indent) + sign + width.Name(wire.Clean(label, 16*len(label)+16), max(cols[0]-indent-2, 1))
	for i, c := range t.Columns {
		switch {
		case i == 0:
			text += fill(label, cols[0], false, false) + " "
		case cols[i] > 0:
			text += fill(safe(t.Cell(n, i)), cols[i], c.Right, false) + " "
		}
	}
	return rowLine(text, chosen, n.style, room)
}

// markOf returns the sign of a node whose rows are marked, all or some.
func (m *Model) markOf(t *Tree, n *Node) string {
	if m.tab != 0 || len(m.marked) == 0 {
		return " "
	}
	marked := 0
	t.rowsOf(n, func(row int) {
		if m.marked[row] {
			marked++
		}
	})
	switch marked {
	case 0:
		return " "
	case n.Tensors:
		return "●"
	}
	return "○"
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

// drawPage draws the visible part of a page that has the whole screen.
func (m *Model) drawPage() [][]span {
	lines := [][]span{{{width.Middle(safe(clip(m.page.Title)), m.width), Bold}}, nil}
	last := m.lastTop()
	for _, l := range m.drawPane(max(m.height-3, 0)) {
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
		place = fmt.Sprintf("%d%%", 100*m.top/last)
	}
	return append(lines, m.footLine(place, pageHints))
}

// drawPane returns lines of the page from its top on.
func (m *Model) drawPane(lines int) []span {
	if m.page == nil {
		return nil
	}
	last := m.lastTop()
	m.top = max(min(m.top, last), 0)
	return m.folds[m.top:min(m.top+lines, len(m.folds))]
}

// paneTitle is the line above a pane.
func (m *Model) paneTitle(columns int) []span {
	title := ""
	if m.page != nil {
		title = " " + width.Name(safe(clip(m.page.Title)), max(columns-4, 1)) + " "
		if m.lastTop() > 0 {
			title += "J, K scroll "
		}
	}
	title = width.Cut("─"+title, columns)
	return []span{{title + strings.Repeat("─", max(columns-width.Of(title), 0)), Dim}}
}

// lastTop returns the first visible line when the page is scrolled to its end.
func (m *Model) lastTop() int {
	columns, lines := m.pageSize()
	if m.page == nil {
		return 0
	}
	if m.folds == nil || m.foldedAt != columns {
		m.foldPage(columns)
	}
	return max(len(m.folds)-lines, 0)
}

// foldPage breaks the page's lines at a width.
func (m *Model) foldPage(columns int) {
	m.folds, m.foldedAt = []span{}, columns
	lines := m.page.Lines
	if m.page.Drawn != nil {
		lines = append(slices.Clone(lines), m.page.Drawn(columns)...)
	}
	for _, l := range lines {
		rest := safe(l.Text)
		for {
			var line string
			line, rest = split(rest, max(columns, 1))
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

// Keys describes the keys, as the help lists them.
var Keys = [][2]string{
	{"up, down, j, k", "a row up, a row down"},
	{"space, b, page keys, ., ,", "a page down, a page up"},
	{"g, G, <, >, home, end", "the first, the last"},
	{"left, right, h, l", "close and open a module, go to its parent; in a list the previous and next tab"},
	{"enter", "open or close a module; show a row on the whole screen"},
	{"=, -", "open all modules, close all"},
	{"`, t", "tree or list"},
	{"tab, [, ], 1 to 9", "the next tab, the previous, a tab by its number"},
	{"J, K", "scroll the pane of the selected row"},
	{"/", "search: rows that have all words"},
	{"esc", "clear the search; from a page back to the list"},
	{"s, r", "sort by the next column, reverse the order; a tree by name or by size"},
	{"m", "mark or unmark the row, or the rows of a module"},
	{"'", "go to the next marked row"},
	{"*", "show the marked rows alone, or all"},
	{"u", "unmark all"},
	{"n, p", "on a page: the page of the next or the previous row"},
	{"e", "read all numbers of the tensor, not a sample"},
	{"c", "compare the numbers: of two marked tensors, or of two models"},
	{"v", "judge the file as a scan does, which reads all of it"},
	{"mouse", "click selects, click again opens; tabs and heads take clicks; the wheel scrolls"},
	{"ctrl-l, ctrl-z", "draw the screen again; stop, as shells do"},
	{"q, ctrl-c", "quit"},
}

// keysOf returns the help in lines of a width.
func keysOf(columns int) (lines [][]span) {
	const room = 27
	for _, k := range Keys {
		if columns < 2*room {
			for rest := k[0] + ": " + k[1]; rest != ""; {
				var line string
				line, rest = split(rest, max(columns, 1))
				lines = append(lines, []span{{line, Plain}})
			}
			continue
		}
		name := span{"  " + width.Pad(k[0], room), Note}
		for rest := k[1]; rest != ""; name.text = strings.Repeat(" ", room+2) {
			var line string
			line, rest = split(rest, columns-room-2)
			lines = append(lines, []span{name, {line, Plain}})
		}
	}
	return lines
}

func (m *Model) drawHelp() [][]span {
	lines := [][]span{{{"Keys", Bold}}, nil}
	keys, room := keysOf(m.width), max(m.height-3, 0)
	top := max(min(m.helpTop, len(keys)-room), 0)
	lines = append(lines, keys[top:min(top+room, len(keys))]...)
	for len(lines) < m.height-1 {
		lines = append(lines, nil)
	}
	if len(keys) > room {
		return append(lines, m.barLine("space, b: more; any other key goes back"))
	}
	return append(lines, m.barLine("any key goes back"))
}
