package browse

import "unicode/utf8"

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
		m.helping = false
		return Refresh
	case m.searching:
		return m.pressInSearch(k)
	case k == 'q':
		return Quit
	case k == '?':
		m.helping = true
		return Refresh
	case m.page != nil:
		return m.pressInPage(k)
	}
	return m.pressInList(k)
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

// pressInPage handles a key while a page is open.
func (m *Model) pressInPage(k Key) Request {
	step := max(m.height-3, 1)
	switch k {
	case Up, 'k':
		m.top--
	case Down, 'j', Enter:
		m.top++
	case PageUp, 'b':
		m.top -= step
	case PageDown, ' ':
		m.top += step
	case Home, 'g':
		m.top = 0
	case End, 'G':
		m.top = m.lastTop()
	case 'n', 'p':
		return m.openNeighbour(k == 'n')
	case Escape, Backspace, Left, 'h':
		m.page = nil
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

// pressInList handles a key while a list is shown.
func (m *Model) pressInList(k Key) Request {
	s := &m.states[m.tab]
	switch k {
	case Up, 'k':
		s.cursor--
	case Down, 'j':
		s.cursor++
	case PageUp, 'b':
		s.cursor -= m.visibleRows()
	case PageDown, ' ':
		s.cursor += m.visibleRows()
	case Home, 'g':
		s.cursor = 0
	case End, 'G':
		s.cursor = m.count()
	case Tab, Right, 'l':
		m.tab = (m.tab + 1) % len(m.tabs)
	case BackTab, Left, 'h':
		m.tab = (m.tab + len(m.tabs) - 1) % len(m.tabs)
	case '/':
		m.searching = m.tabs[m.tab].Search != nil
	case 's', 'r':
		m.sort(k == 'r')
	case 'v':
		return Judge
	case Enter:
		if _, row := m.Place(); row >= 0 {
			return Open
		}
	case Escape:
		if s.search == "" {
			return Nothing
		}
		s.search = ""
		m.updateRows()
	default:
		if i := int(k - '1'); k >= '1' && i < len(m.tabs) {
			m.tab = i
		} else {
			return Nothing
		}
	}
	m.scroll()
	return Refresh
}

// sort sorts by the next sortable column, or reverses the order.
func (m *Model) sort(turn bool) {
	t, s := &m.tabs[m.tab], &m.states[m.tab]
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
