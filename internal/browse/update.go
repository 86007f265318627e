package browse

import "unicode/utf8"

// Press takes a key, and says what it asks for.
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
		return m.typed(k)
	case k == 'q':
		return Quit
	case k == '?':
		m.helping = true
		return Refresh
	case m.page != nil:
		return m.inPage(k)
	}
	return m.inList(k)
}

// typed takes a key of the search.
func (m *Model) typed(k Key) Request {
	s := &m.states[m.at]
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
	m.choose()
	return Refresh
}

// maxSearch is more than anybody types.
const maxSearch = 256

// inPage takes a key while a page is open.
func (m *Model) inPage(k Key) Request {
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
		return m.neighbour(k == 'n')
	case Escape, Backspace, Left, 'h':
		m.page = nil
		return Close
	default:
		return Nothing
	}
	m.top = max(min(m.top, m.lastTop()), 0)
	return Refresh
}

// neighbour opens the page of the row below, or above.
func (m *Model) neighbour(below bool) Request {
	s, to := &m.states[m.at], -1
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

// inList takes a key while a list is shown.
func (m *Model) inList(k Key) Request {
	s := &m.states[m.at]
	switch k {
	case Up, 'k':
		s.cursor--
	case Down, 'j':
		s.cursor++
	case PageUp, 'b':
		s.cursor -= m.high()
	case PageDown, ' ':
		s.cursor += m.high()
	case Home, 'g':
		s.cursor = 0
	case End, 'G':
		s.cursor = m.count()
	case Tab, Right, 'l':
		m.at = (m.at + 1) % len(m.tabs)
	case BackTab, Left, 'h':
		m.at = (m.at + len(m.tabs) - 1) % len(m.tabs)
	case '/':
		m.searching = m.tabs[m.at].Search != nil
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
		m.choose()
	default:
		if i := int(k - '1'); k >= '1' && i < len(m.tabs) {
			m.at = i
		} else {
			return Nothing
		}
	}
	m.scroll()
	return Refresh
}

// sort goes to the next column that can be sorted by, or turns the order around.
func (m *Model) sort(turn bool) {
	t, s := &m.tabs[m.at], &m.states[m.at]
	if turn {
		s.down = s.sort >= 0 && !s.down
	} else {
		for s.sort++; s.sort < len(t.Columns) && t.Columns[s.sort].Compare == nil; s.sort++ {
		}
		if s.sort >= len(t.Columns) {
			s.sort = -1
		}
		s.down = s.sort >= 0 && t.Columns[s.sort].Right // of numbers the greatest first
	}
	m.choose()
}
