package browse

import (
	"slices"
	"strings"
)

// A Style is the style of a text.
type Style uint8

// The styles. Without colours, the last four are plain.
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

// A Column is a column of a tab.
type Column struct {
	Title string
	Width int  // width; 0 takes the remaining width, for one column of each tab
	Right bool // aligned right
	Drop  int  // on a narrow terminal, columns with the highest value are dropped first; 0 stays
	// Compare orders two rows; nil if the column cannot be sorted by.
	Compare func(a, b int) int
	Names   bool // cells are names of tensors, which are cut in the middle
}

// A TabOf is the list of a tab. Its rows are requested when they are drawn.
type TabOf struct {
	Title   string
	Columns []Column
	Len     int
	Cell    func(row, column int) string
	Search  func(row int) string // the text that is searched, in lower case
	Style   func(row int) Style  // nil for plain
	Empty   string               // text for an empty list
}

// A Line is a line of a page.
type Line struct {
	Text  string
	Style Style
}

// A Page is a text that can be scrolled.
type Page struct {
	Title string
	Lines []Line
}

// A Request asks the owner of a model for something.
type Request int

// The requests.
const (
	Nothing Request = iota
	Quit
	Open    // show the page of Place
	Close   // the page was closed
	Judge   // judge the file
	Stop    // suspend the program
	Clear   // draw everything again
	Refresh // draw what changed
)

// A Model is the state of the browser.
type Model struct {
	title  string
	tabs   []TabOf
	states []state
	tab    int

	page *Page
	top  int // first line of the page
	// folds are the page's lines, broken at the width foldedAt.
	folds    []span
	foldedAt int

	searching, helping bool
	width, height      int
	status             string
	Colours            bool
}

// A state is the state of a tab: its rows, its order, and where it is scrolled to.
type state struct {
	rows        []int // nil is all, in their order
	cursor, top int
	search      string
	sort        int // column, -1 is the order of the file
	descending  bool
}

// New returns a browser of tabs.
func New(title string, tabs []TabOf) *Model {
	m := &Model{title: title, tabs: tabs, states: make([]state, len(tabs)), width: 80, height: 24, Colours: true}
	for i := range m.states {
		m.states[i].sort = -1
	}
	return m
}

// Resize sets the size of the terminal.
func (m *Model) Resize(width, height int) {
	m.width, m.height = max(width, 1), max(height, 1)
	m.scroll()
}

// GoTo opens a tab.
func (m *Model) GoTo(tab int) { m.tab = tab }

// SetTab replaces a tab, or adds one after the last.
func (m *Model) SetTab(i int, t TabOf) {
	if i == len(m.tabs) {
		m.tabs, m.states = append(m.tabs, t), append(m.states, state{})
	}
	m.tabs[i] = t
	m.states[i].rows, m.states[i].search = nil, ""
	m.states[i].sort = -1
	m.scroll()
}

// SetStatus shows a text in the last line, until a key is pressed.
func (m *Model) SetStatus(text string) { m.status = text }

// Place returns the open tab and the selected row, -1 for none.
func (m *Model) Place() (tab, row int) {
	s := &m.states[m.tab]
	if s.cursor >= m.count() {
		return m.tab, -1
	}
	return m.tab, s.row(s.cursor)
}

// Show opens a page, or updates the open page of the same title.
func (m *Model) Show(p Page) {
	if m.page == nil || m.page.Title != p.Title {
		m.top = 0
	}
	m.page, m.folds = &p, nil
}

// Reading reports whether a page is open.
func (m *Model) Reading() bool { return m.page != nil }

func (s *state) row(i int) int {
	if s.rows == nil {
		return i
	}
	return s.rows[i]
}

// count returns the number of rows that the search has left.
func (m *Model) count() int {
	if s := &m.states[m.tab]; s.rows != nil {
		return len(s.rows)
	}
	return m.tabs[m.tab].Len
}

// updateRows applies the search and the order of a tab.
func (m *Model) updateRows() {
	t, s := &m.tabs[m.tab], &m.states[m.tab]
	_, was := m.Place()
	words := strings.Fields(strings.ToLower(s.search))
	if len(words) == 0 && s.sort < 0 {
		s.rows = nil
	} else {
		s.rows = make([]int, 0, t.Len)
		for i := range t.Len {
			if matches(t, i, words) {
				s.rows = append(s.rows, i)
			}
		}
		if s.sort >= 0 {
			compare := t.Columns[s.sort].Compare
			slices.SortStableFunc(s.rows, func(a, b int) int {
				if s.descending {
					return compare(b, a)
				}
				return compare(a, b)
			})
		}
	}
	s.cursor, s.top = 0, 0
	if s.rows == nil && was >= 0 {
		s.cursor = was
	} else if at := slices.Index(s.rows, was); at > 0 && len(words) > 0 {
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

// scroll keeps the cursor visible.
func (m *Model) scroll() {
	s, n, high := &m.states[m.tab], m.count(), m.visibleRows()
	s.cursor = max(min(s.cursor, n-1), 0)
	s.top = max(min(s.top, s.cursor, n-high), 0)
	if s.cursor >= s.top+high {
		s.top = s.cursor - high + 1
	}
}

// chrome is the number of lines above and below the rows of a list.
const chrome = 4

// visibleRows returns how many rows of a list fit the terminal.
func (m *Model) visibleRows() int { return max(m.height-chrome, 1) }
