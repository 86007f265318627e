package browse

import (
	"maps"
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
	// Tree shows the rows by module; nil for a list alone.
	Tree *Tree
	// Detail says that a pane beside the list shows the selected row.
	Detail bool
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
	// Drawn makes more lines for a width; nil for none.
	Drawn func(width int) []Line
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
	Whole   // read all elements of the selected tensor
	Pair    // compare the two marked rows, or all numbers of two models
	Stop    // suspend the program
	Clear   // draw everything again
	Refresh // draw what changed
)

// A Model is the state of the browser.
type Model struct {
	title   string
	verdict Line
	tabs    []TabOf
	states  []state
	tab     int

	page    *Page // of the selected row
	reading bool  // the page has the whole screen
	top     int   // first line of the page
	// folds are the page's lines, broken at the width foldedAt.
	folds    []span
	foldedAt int

	searching, helping bool
	helpTop            int
	width, height      int
	status             string
	marked             map[int]bool // rows of the first tab
	spots              []spot       // where the titles of the tabs are
	Colours            bool
}

// A spot is where a tab is on the line of tabs.
type spot struct{ from, to, tab int }

// A state is the state of a tab: its rows, its order, and where it is scrolled to.
type state struct {
	rows        []int // nil is all, in their order
	cursor, top int
	search      string
	sort        int // column, -1 is the order of the file
	descending  bool
	flat        bool // the tree is shown as a list
	onlyMarked  bool
}

// New returns a browser of tabs.
func New(title string, tabs []TabOf) *Model {
	m := &Model{title: title, tabs: tabs, states: make([]state, len(tabs)), width: 80, height: 24, Colours: true, marked: map[int]bool{}}
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

// Terminals as large as these show the selected row beside the list, or below it.
const (
	besideWidth = 76
	belowHeight = 18
)

// A layout divides the lines between the heads of a list and the foot.
type layout struct {
	list, pane int // columns of the list and of the pane beside it, 0 for no pane
	rows       int // of the list
	below      int // lines of the pane below the list, 0 for none
}

func (m *Model) layout() layout {
	l := layout{list: m.width, rows: max(m.height-chrome, 1)}
	switch {
	case !m.tabs[m.tab].Detail:
	case m.width >= besideWidth:
		l.list = max(m.width*9/20, 38)
		l.pane = m.width - l.list - 1
	case m.height >= belowHeight:
		l.below = (m.height - chrome) / 2 // with its title
		l.rows -= l.below
	}
	return l
}

// Follows reports whether a pane shows the selected row.
func (m *Model) Follows() bool {
	l := m.layout()
	return m.reading || l.pane > 0 || l.below > 0
}

// pageSize returns the columns and lines that the page has.
func (m *Model) pageSize() (columns, lines int) {
	l := m.layout()
	switch {
	case m.reading:
		return m.width, max(m.height-3, 0)
	case l.pane > 0:
		return l.pane - 1, max(m.height-chrome, 0)
	}
	return m.width, max(l.below-1, 0)
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

// SetVerdict shows a word about the model beside its title.
func (m *Model) SetVerdict(text string, style Style) { m.verdict = Line{text, style} }

// tree returns the tree of the open tab, nil if it shows a list.
func (m *Model) tree() *Tree {
	if m.states[m.tab].flat {
		return nil
	}
	return m.tabs[m.tab].Tree
}

// Module returns the selected module with its name, nil if a row is selected.
func (m *Model) Module() (*Node, string) {
	t, s := m.tree(), &m.states[m.tab]
	if t == nil || s.cursor >= len(t.nodes) || t.nodes[s.cursor].Row >= 0 {
		return nil, ""
	}
	n := &t.nodes[s.cursor]
	t.count(n)
	return n, t.path(n)
}

// Rows calls f for the rows of a module.
func (m *Model) Rows(n *Node, f func(row int)) {
	if t := m.tree(); t != nil {
		t.rowsOf(n, f)
	}
}

// Visible returns the rows of the open tab that are on the screen.
func (m *Model) Visible() (rows []int) {
	s, t := &m.states[m.tab], m.tree()
	for i := s.top; i < min(s.top+m.layout().rows, m.count()); i++ {
		if t == nil {
			rows = append(rows, s.row(i))
		} else if t.nodes[i].Row >= 0 {
			rows = append(rows, t.nodes[i].Row)
		}
	}
	return rows
}

// Shows reports whether a column of the tree is on the screen.
func (m *Model) Shows(title string) bool {
	t := m.tree()
	if t == nil || m.reading {
		return false
	}
	for i, w := range layColumns(t.Columns, m.layout().list) {
		if w > 0 && t.Columns[i].Title == title {
			return true
		}
	}
	return false
}

// Marked returns the marked rows of the first tab in ascending order.
func (m *Model) Marked() []int { return slices.Sorted(maps.Keys(m.marked)) }

// SetStatus shows a text in the last line, until a key is pressed.
func (m *Model) SetStatus(text string) { m.status = text }

// Place returns the open tab and the selected row, -1 for none and for a module.
func (m *Model) Place() (tab, row int) {
	s := &m.states[m.tab]
	if s.cursor >= m.count() {
		return m.tab, -1
	}
	if t := m.tree(); t != nil {
		return m.tab, t.nodes[s.cursor].Row
	}
	return m.tab, s.row(s.cursor)
}

// Show shows a page about the selected row, in the pane or on the whole screen.
func (m *Model) Show(p Page) {
	if m.page == nil || m.page.Title != p.Title {
		m.top = 0
	}
	m.page, m.folds = &p, nil
}

// Reading reports whether a page has the whole screen.
func (m *Model) Reading() bool { return m.reading }

func (s *state) row(i int) int {
	if s.rows == nil {
		return i
	}
	return s.rows[i]
}

// count returns the number of rows that the search has left, or of the nodes that are open.
func (m *Model) count() int {
	if t := m.tree(); t != nil {
		return len(t.nodes)
	}
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
	keeps := func(row int) bool { return matches(t, row, words) && (!s.onlyMarked || m.marked[row]) }
	if tree := m.tree(); tree != nil {
		if len(words) == 0 && !s.onlyMarked {
			keeps = nil
		}
		tree.filter(keeps)
		s.cursor, s.top = 0, 0
		if was >= 0 {
			s.cursor = max(tree.reveal(was), 0)
		}
		m.scroll()
		return
	}
	if len(words) == 0 && s.sort < 0 && !s.onlyMarked {
		s.rows = nil
	} else {
		s.rows = make([]int, 0, t.Len)
		for i := range t.Len {
			if keeps(i) {
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
	s, n, high := &m.states[m.tab], m.count(), m.layout().rows
	s.cursor = max(min(s.cursor, n-1), 0)
	s.top = max(min(s.top, s.cursor, n-high), 0)
	if s.cursor >= s.top+high {
		s.top = s.cursor - high + 1
	}
}

// chrome is the number of lines above and below the rows of a list.
const chrome = 4
