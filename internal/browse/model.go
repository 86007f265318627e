package browse

import (
	"slices"
	"strings"
)

// A Style is how a text stands out.
type Style uint8

// The styles. Where no colours are wanted, the last four are plain.
const (
	Plain Style = iota
	Bold
	Dim
	Selected
	Bad
	Warning
	Note
	Good
)

// A Column is one of a tab's.
type Column struct {
	Title string
	Width int  // most columns of the terminal; 0 takes what is left, once in each tab
	Right bool // stands at the right of its column
	Drop  int  // on a narrow terminal the columns with the highest go first; 0 stays
	// Compare orders two rows; nil where there is nothing to sort by.
	Compare func(a, b int) int
	Names   bool // texts are names of tensors, which are cut where they are most alike
}

// A TabOf is a list: its rows are asked for when they are drawn.
type TabOf struct {
	Title   string
	Columns []Column
	Len     int
	Cell    func(row, column int) string
	Search  func(row int) string // what is searched in, in lower case
	Style   func(row int) Style  // nil for plain
	Empty   string               // what stands in the place of no rows
}

// A Line is one of a page.
type Line struct {
	Text  string
	Style Style
}

// A Page is a text that is read from above.
type Page struct {
	Title string
	Lines []Line
}

// A Request is what a model asks of its owner.
type Request int

// The requests.
const (
	Nothing Request = iota
	Quit
	Open    // the page of Place
	Close   // the page that was open
	Judge   // the verdict
	Stop    // suspend the program
	Clear   // draw everything anew
	Refresh // draw what changed
)

// A Model is the whole browser.
type Model struct {
	title  string
	tabs   []TabOf
	states []state
	at     int

	page *Page
	top  int // first line of the page
	// folds are the page's lines, broken for a terminal as wide as foldedAt.
	folds    []span
	foldedAt int

	searching, helping bool
	width, height      int
	status             string
	Colours            bool
}

// A state is where a tab is scrolled to, and what of it is shown.
type state struct {
	shown       []int // nil is all, in their order
	cursor, top int
	search      string
	sort        int // column, -1 is the order of the file
	down        bool
}

// New is a browser of tabs.
func New(title string, tabs []TabOf) *Model {
	m := &Model{title: title, tabs: tabs, states: make([]state, len(tabs)), width: 80, height: 24, Colours: true}
	for i := range m.states {
		m.states[i].sort = -1
	}
	return m
}

// Resize says how large the terminal is.
func (m *Model) Resize(width, height int) {
	m.width, m.height = max(width, 1), max(height, 1)
	m.scroll()
}

// GoTo opens a tab.
func (m *Model) GoTo(tab int) { m.at = tab }

// SetTab puts a list in the place of another, or behind the last.
func (m *Model) SetTab(i int, t TabOf) {
	if i == len(m.tabs) {
		m.tabs, m.states = append(m.tabs, t), append(m.states, state{})
	}
	m.tabs[i] = t
	m.states[i].shown, m.states[i].search = nil, ""
	m.states[i].sort = -1
	m.scroll()
}

// SetStatus says something in the last line, until a key is pressed.
func (m *Model) SetStatus(text string) { m.status = text }

// Place is the tab and the row that the cursor stands on; the row is -1 for none.
func (m *Model) Place() (tab, row int) {
	s := &m.states[m.at]
	if s.cursor >= m.count() {
		return m.at, -1
	}
	return m.at, s.row(s.cursor)
}

// Show opens a page, or puts what is known by now in the place of the one that is open.
func (m *Model) Show(p Page) {
	if m.page == nil || m.page.Title != p.Title {
		m.top = 0
	}
	m.page, m.folds = &p, nil
}

// Reading reports that a page is open.
func (m *Model) Reading() bool { return m.page != nil }

func (s *state) row(i int) int {
	if s.shown == nil {
		return i
	}
	return s.shown[i]
}

// count is how many rows of the tab are shown.
func (m *Model) count() int {
	if s := &m.states[m.at]; s.shown != nil {
		return len(s.shown)
	}
	return m.tabs[m.at].Len
}

// choose finds the rows that are searched for, in their order.
func (m *Model) choose() {
	t, s := &m.tabs[m.at], &m.states[m.at]
	_, was := m.Place()
	words := strings.Fields(strings.ToLower(s.search))
	if len(words) == 0 && s.sort < 0 {
		s.shown = nil
	} else {
		s.shown = make([]int, 0, t.Len)
		for i := range t.Len {
			if matches(t, i, words) {
				s.shown = append(s.shown, i)
			}
		}
		if s.sort >= 0 {
			compare := t.Columns[s.sort].Compare
			slices.SortStableFunc(s.shown, func(a, b int) int {
				if s.down {
					return compare(b, a)
				}
				return compare(a, b)
			})
		}
	}
	s.cursor, s.top = 0, 0
	if s.shown == nil && was >= 0 {
		s.cursor = was
	} else if at := slices.Index(s.shown, was); at > 0 && len(words) > 0 {
		s.cursor = at
	}
	m.scroll()
}

func matches(t *TabOf, row int, words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := t.Search(row)
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// scroll moves the window to the cursor.
func (m *Model) scroll() {
	s, n, high := &m.states[m.at], m.count(), m.high()
	s.cursor = max(min(s.cursor, n-1), 0)
	s.top = max(min(s.top, s.cursor, n-high), 0)
	if s.cursor >= s.top+high {
		s.top = s.cursor - high + 1
	}
}

// chrome is how many lines stand above and below the rows of a list.
const chrome = 4

// high is how many rows of a list fit.
func (m *Model) high() int { return max(m.height-chrome, 1) }
