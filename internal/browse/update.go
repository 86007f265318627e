package browse

import (
	"strings"
	"unicode/utf8"
)

// Take handles a key or a button of the mouse and returns what it asks for.
func (m *Model) Take(in Input) Request {
	switch in.Key {
	case Click, WheelUp, WheelDown:
		m.status = ""
		return m.mouse(in)
	}
	return m.Press(in.Key)
}

// Press handles a key and returns what it asks for.
func (m *Model) Press(k Key) Request {
	m.status = ""
	switch {
	case k == Interrupt:
		return Quit
	case k == Suspend:
		return Stop
	case k == Repaint:
		return Clear
	case m.helping:
		return m.pressInHelp(k)
	case m.searching:
		return m.pressInSearch(k)
	case k == 'q':
		return Quit
	case k == '?':
		m.helping, m.helpTop = true, 0
		return Refresh
	case k == 'v':
		return Judge
	case k == 'e':
		return Whole
	case k == 'c':
		return Pair
	case m.reading:
		return m.pressInPage(k)
	}
	return m.pressInList(k)
}

// pressInHelp scrolls the keys; any other key goes back.
func (m *Model) pressInHelp(k Key) Request {
	last := max(len(keysOf(m.width))-max(m.height-3, 1), 0)
	switch k {
	case Up, 'k', WheelUp:
		m.helpTop--
	case Down, 'j', WheelDown:
		m.helpTop++
	case PageDown, ' ':
		m.helpTop += m.height
	case PageUp, 'b':
		m.helpTop -= m.height
	default:
		m.helping = false
	}
	m.helpTop = max(min(m.helpTop, last), 0)
	return Refresh
}

// pressInSearch handles a key while a search is typed.
func (m *Model) pressInSearch(k Key) Request {
	s := &m.states[m.tab]
	switch {
	case k == Enter || k == Down || k == Up:
		m.searching = false
		return Refresh
	case k == Escape:
		m.searching, s.search = false, ""
	case k == Backspace && s.search == "":
		m.searching = false
	case k == Backspace:
		_, n := utf8.DecodeLastRuneInString(s.search)
		s.search = s.search[:len(s.search)-n]
	case k == Erase:
		s.search = ""
	case k >= ' ' && len(s.search) < maxSearch:
		s.search += string(rune(k))
	default:
		return Nothing
	}
	m.updateRows()
	return Refresh
}

// maxSearch bounds the text of a search.
const maxSearch = 256

// pressInPage handles a key while a page has the whole screen.
func (m *Model) pressInPage(k Key) Request {
	step := max(m.height-3, 1)
	switch k {
	case Up, 'k', 'K':
		m.top--
	case Down, 'j', 'J', Enter:
		m.top++
	case PageUp, 'b', ',':
		m.top -= step
	case PageDown, ' ', '.':
		m.top += step
	case Home, 'g', '<':
		m.top = 0
	case End, 'G', '>':
		m.top = m.lastTop()
	case 'n', 'p':
		return m.openNeighbour(k == 'n')
	case Escape, Backspace, Left, 'h':
		m.reading, m.folds = false, nil
		if !m.Follows() {
			m.page = nil
		}
		m.scroll()
		return Close
	default:
		return Nothing
	}
	m.top = max(min(m.top, m.lastTop()), 0)
	return Refresh
}

// openNeighbour opens the page of the row below or above.
func (m *Model) openNeighbour(below bool) Request {
	s, to := &m.states[m.tab], -1
	if below {
		to = 1
	}
	if to += s.cursor; to < 0 || to >= m.count() {
		return Nothing
	}
	s.cursor, m.top = to, 0
	m.scroll()
	return Open
}

// openRow opens the selected row, or opens or closes the selected module.
func (m *Model) openRow() Request {
	s := &m.states[m.tab]
	if s.cursor >= m.count() {
		return Nothing
	}
	if t := m.tree(); t != nil && t.nodes[s.cursor].Row < 0 {
		t.toggle(s.cursor)
		m.scroll()
		return Refresh
	}
	m.reading, m.folds, m.top = true, nil, 0
	return Open
}

// pressInList handles a key while a list is shown.
func (m *Model) pressInList(k Key) Request {
	s, high := &m.states[m.tab], m.layout().rows
	switch k {
	case Up, 'k':
		s.cursor--
	case Down, 'j':
		s.cursor++
	case PageUp, 'b', ',':
		s.cursor -= high
	case PageDown, ' ', '.':
		s.cursor += high
	case Home, 'g', '<':
		s.cursor = 0
	case End, 'G', '>':
		s.cursor = m.count()
	case 'J', 'K':
		m.scrollPane(map[Key]int{'J': 1, 'K': -1}[k])
	case Tab, ']':
		m.tab = (m.tab + 1) % len(m.tabs)
	case BackTab, '[':
		m.tab = (m.tab + len(m.tabs) - 1) % len(m.tabs)
	case Left, 'h', Right, 'l':
		m.sideways(k == Right || k == 'l')
	case '/':
		m.searching = m.tabs[m.tab].Search != nil
	case 's', 'r':
		m.sort(k == 'r')
	case '`', 't', '=', '-':
		return m.arrange(k)
	case 'm', '*', 'u', '\'':
		return m.mark(k)
	case Enter:
		return m.openRow()
	case Escape:
		if s.search == "" && !s.onlyMarked {
			return Nothing
		}
		s.search, s.onlyMarked = "", false
		m.updateRows()
	default:
		i := int(k - '1')
		if k < '1' || i >= len(m.tabs) {
			return Nothing
		}
		m.tab = i
	}
	m.scroll()
	return Refresh
}

// sideways opens and closes modules in a tree, and goes to the next tab in a list.
func (m *Model) sideways(right bool) {
	t, s := m.tree(), &m.states[m.tab]
	if t == nil {
		step := len(m.tabs) - 1
		if right {
			step = 1
		}
		m.tab = (m.tab + step) % len(m.tabs)
		return
	}
	if s.cursor >= len(t.nodes) {
		return
	}
	switch n := &t.nodes[s.cursor]; {
	case n.Row < 0 && n.opened != right:
		t.toggle(s.cursor)
	case right:
		s.cursor++
	default:
		s.cursor = t.parent(s.cursor)
	}
}

// arrange changes between tree and list, and opens or closes all modules.
func (m *Model) arrange(k Key) Request {
	s, tree := &m.states[m.tab], m.tabs[m.tab].Tree
	if tree == nil || s.flat && (k == '=' || k == '-') {
		return Nothing
	}
	_, row := m.Place()
	switch k {
	case '=':
		tree.openAll()
	case '-':
		tree.closeAll()
	default:
		s.flat, s.sort = !s.flat, -1
		m.updateRows()
	}
	s.cursor = 0
	if t := m.tree(); t != nil && row >= 0 && k != '-' {
		s.cursor = max(t.reveal(row), 0)
	} else if t == nil {
		for i := range m.count() {
			if s.row(i) == row {
				s.cursor = i
			}
		}
	}
	m.scroll()
	return Refresh
}

// mark marks rows of the first tab, forgets the marks, shows the marked alone, or goes to the next.
func (m *Model) mark(k Key) Request {
	s := &m.states[m.tab]
	if m.tab != 0 || s.cursor >= m.count() && k != '*' {
		return Nothing
	}
	switch k {
	case 'm':
		rows := m.selected()
		all := true
		for _, row := range rows {
			all = all && m.marked[row]
		}
		for _, row := range rows {
			if m.marked[row] = true; all {
				delete(m.marked, row)
			}
		}
		s.cursor++
	case 'u':
		clear(m.marked)
		if s.onlyMarked {
			s.onlyMarked = false
			m.updateRows()
		}
	case '*':
		s.onlyMarked = !s.onlyMarked
		m.updateRows()
	case '\'':
		m.nextMark()
	}
	m.scroll()
	return Refresh
}

// selected returns the rows of the selected node, or the selected row.
func (m *Model) selected() (rows []int) {
	if n, _ := m.Module(); n != nil {
		m.Rows(n, func(row int) { rows = append(rows, row) })
		return rows
	}
	if _, row := m.Place(); row >= 0 {
		rows = append(rows, row)
	}
	return rows
}

// nextMark goes to the next marked row, from the last to the first.
func (m *Model) nextMark() {
	s, t := &m.states[m.tab], m.tree()
	if t == nil {
		for i := range m.count() {
			if at := (s.cursor + 1 + i) % m.count(); m.marked[s.row(at)] {
				s.cursor = at
				return
			}
		}
		return
	}
	_, from := m.Place()
	begin := t.nodes[s.cursor].at.lo
	if from >= 0 {
		begin++
	}
	for i := range t.shown {
		if row := int(t.shown[(begin+i)%len(t.shown)]); m.marked[row] {
			s.cursor = max(t.reveal(row), 0)
			return
		}
	}
}

// sort sorts by the next sortable column, or reverses the order. A tree is in the order of names or
// of sizes.
func (m *Model) sort(turn bool) {
	t, s := &m.tabs[m.tab], &m.states[m.tab]
	if tree := m.tree(); tree != nil {
		_, row := m.Place()
		if tree.bySize = !tree.bySize; !turn {
			s.cursor = 0
		}
		tree.build()
		if row >= 0 {
			s.cursor = max(tree.find(row), 0)
		}
		return
	}
	if turn {
		s.descending = s.sort >= 0 && !s.descending
	} else {
		for s.sort++; s.sort < len(t.Columns) && t.Columns[s.sort].Compare == nil; s.sort++ {
		}
		if s.sort >= len(t.Columns) {
			s.sort = -1
		}
		s.descending = s.sort >= 0 && t.Columns[s.sort].Right // of numbers the greatest first
	}
	m.updateRows()
}

// scrollPane scrolls the page in its pane.
func (m *Model) scrollPane(by int) {
	if m.page != nil {
		m.top = max(min(m.top+by, m.lastTop()), 0)
	}
}

// wheelLines is how far a turn of the wheel scrolls.
const wheelLines = 3

// mouse handles a button of the mouse.
func (m *Model) mouse(in Input) Request {
	by := map[Key]int{WheelUp: -wheelLines, WheelDown: wheelLines}[in.Key]
	l := m.layout()
	rows := in.Y - (chrome - 1) // from the first line of the list
	switch {
	case m.helping:
		return m.pressInHelp(in.Key)
	case m.searching && in.Key == Click:
		m.searching = false
	case m.reading && in.Key == Click && in.Y == m.height-1:
		return m.pressInPage(Escape)
	case m.reading:
		m.scrollPane(by)
		return Refresh
	case l.pane > 0 && in.X >= l.list && in.Y >= chrome-1, l.below > 0 && rows >= l.rows:
		if m.scrollPane(by); in.Key == Click && in.Y < m.height-1 && m.page != nil {
			return m.openRow()
		}
		return Refresh
	}
	s := &m.states[m.tab]
	switch {
	case by != 0:
		s.cursor += by
	case in.Y == 1:
		for _, p := range m.spots {
			if in.X >= p.from && in.X < p.to {
				m.tab = p.tab
			}
		}
	case in.Y == 2:
		m.sort(false)
	case rows >= 0 && rows < l.rows && s.top+rows < m.count():
		if s.cursor == s.top+rows {
			return m.openRow()
		}
		s.cursor = s.top + rows
	case in.Y == m.height-1:
		m.helping, m.helpTop = true, 0
	}
	m.scroll()
	return Refresh
}

// words joins texts that are not empty.
func words(list ...string) string {
	var out []string
	for _, text := range list {
		if text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "  ")
}
