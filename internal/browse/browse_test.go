package browse

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/width"
)

// rows is a tab of names and sizes.
func rows(names ...string) TabOf {
	return TabOf{
		Title: "Tensors", Len: len(names), Empty: "No tensors.",
		Columns: []Column{
			{Title: "Name", Names: true, Compare: func(a, b int) int { return cmp.Compare(names[a], names[b]) }},
			{Title: "Type", Width: 6, Drop: 1},
			{Title: "Size", Width: 8, Right: true, Compare: func(a, b int) int { return cmp.Compare(len(names[a]), len(names[b])) }},
		},
		Cell:   func(r, c int) string { return []string{names[r], "F32", fmt.Sprint(len(names[r]))}[c] },
		Search: func(r int) string { return strings.ToLower(names[r]) },
	}
}

func press(m *Model, keys ...Key) (last Request) {
	for _, k := range keys {
		last = m.Press(k)
	}
	return last
}

func typed(text string) (keys []Key) {
	for _, r := range text {
		keys = append(keys, Key(r))
	}
	return keys
}

// shown returns the text on the screen, without attributes.
func shown(m *Model) string {
	var out []string
	for _, l := range m.Draw() {
		out = append(out, strings.TrimRight(plainText(l), " "))
	}
	return strings.Join(out, "\n")
}

func plainText(s string) string {
	for _, code := range sgr[1:] {
		s = strings.ReplaceAll(s, "\x1b["+code+"m", "")
	}
	return strings.ReplaceAll(s, "\x1b[0m", "")
}

func keysIn(list []Input) (keys []Key) {
	for _, in := range list {
		keys = append(keys, in.Key)
	}
	return keys
}

func TestKeysOfWhatTerminalsSend(t *testing.T) {
	for _, c := range []struct {
		name, sent string
		want       []Key
	}{
		{"characters", "qé日", []Key{'q', 'é', '日'}},
		{"arrows of both modes", "\x1b[A\x1bOB\x1b[C\x1bOD", []Key{Up, Down, Right, Left}},
		{"shift held", "\x1b[1;2A\x1b[5;5~", []Key{Up, PageUp}},
		{"pages and ends", "\x1b[5~\x1b[6~\x1b[H\x1bOF\x1b[1~\x1b[4~", []Key{PageUp, PageDown, Home, End, Home, End}},
		{"controls", "\r\n\t\x1b[Z\x7f\b\x03\x1a\x0c\x15", []Key{Enter, Enter, Tab, BackTab, Backspace, Backspace, Interrupt, Suspend, Repaint, Erase}},
		{"a key that means nothing", "\x1b[[Ax\x1b[15~y\x1b[?1;2cz", []Key{'x', 'y', 'z'}},
		{"escape before a letter", "\x1bq", []Key{Escape, 'q'}},
		{"two escapes", "\x1b\x1b[A", []Key{Escape, Up}},
		{"what is not UTF-8", "a\xffb", []Key{'a', 'b'}},
		{"a sequence without end", "\x1b[" + strings.Repeat("1", 100) + "q", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var whole Decoder
			got := keysIn(whole.Feed([]byte(c.sent)))
			if c.want != nil && fmt.Sprint(got) != fmt.Sprint(c.want) || whole.Waiting() {
				t.Errorf("%v, want %v", got, c.want)
			}
			var bytewise Decoder
			var each []Key
			for i := range len(c.sent) {
				each = append(each, keysIn(bytewise.Feed([]byte{c.sent[i]}))...)
			}
			if fmt.Sprint(each) != fmt.Sprint(got) {
				t.Errorf("in pieces %v, at once %v", each, got)
			}
		})
	}
	var d Decoder
	if k := d.Feed([]byte("\x1b")); len(k) != 0 || !d.Waiting() {
		t.Errorf("an escape alone is %v", k)
	}
	if k := d.Flush(); len(k) != 1 || k[0].Key != Escape || d.Waiting() {
		t.Errorf("and then %v", k)
	}
}

func TestScrollingKeepsTheCursorOnTheScreen(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("layer.%d", i))
	}
	m := New("model", []TabOf{rows(names...)})
	m.Resize(60, 14)
	for _, step := range []struct {
		keys []Key
		row  int
	}{
		{nil, 0}, {[]Key{Up}, 0}, {[]Key{Down, 'j', 'j'}, 3}, {[]Key{'k'}, 2}, {[]Key{PageDown}, 12}, {[]Key{' '}, 22}, {[]Key{'b'}, 12},
		{[]Key{'G'}, 999}, {[]Key{Down}, 999}, {[]Key{PageUp}, 989}, {[]Key{'g'}, 0}, {[]Key{End}, 999}, {[]Key{Home}, 0},
	} {
		press(m, step.keys...)
		if _, row := m.Place(); row != step.row {
			t.Fatalf("%v: row %d, want %d", step.keys, row, step.row)
		}
		if !strings.Contains(shown(m), names[step.row]+" ") {
			t.Errorf("row %d is not on the screen:\n%s", step.row, shown(m))
		}
	}
	press(m, 'G')
	for _, size := range [][2]int{{200, 60}, {20, 5}, {1, 1}, {80, 2}, {10, 400}} {
		m.Resize(size[0], size[1])
		fits(t, m, size[0], size[1])
		if _, row := m.Place(); row != 999 {
			t.Errorf("at %v the cursor is on %d", size, row)
		}
	}
}

// fits checks that nothing is larger than the terminal.
func fits(t *testing.T, m *Model, w, h int) {
	t.Helper()
	lines := m.Draw()
	if len(lines) != h {
		t.Errorf("%d lines of %d", len(lines), h)
	}
	for _, l := range lines {
		if n := width.Of(plainText(l)); n > w {
			t.Errorf("%d columns of %d: %q", n, w, l)
		}
	}
}

func TestSearchAndSort(t *testing.T) {
	m := New("model", []TabOf{rows("b.weight", "a.bias", "a.weight.long")})
	press(m, append([]Key{'/'}, typed("A. WEI")...)...)
	if _, row := m.Place(); row != 2 || m.count() != 1 {
		t.Errorf("row %d of %d", row, m.count())
	}
	press(m, Backspace, Erase)
	if m.count() != 3 {
		t.Errorf("%d rows without words", m.count())
	}
	press(m, append(typed("none"), Enter)...)
	if _, row := m.Place(); row != -1 || !strings.Contains(shown(m), "No row has all of these words") {
		t.Errorf("row %d:\n%s", row, shown(m))
	}
	if press(m, Enter) == Open {
		t.Error("a row that is not there opens")
	}
	press(m, Escape, 's')
	if _, row := m.Place(); row != 1 || !strings.Contains(shown(m), "Name ▲") {
		t.Errorf("by name %d first:\n%s", row, shown(m))
	}
	press(m, 's')
	if _, row := m.Place(); row != 2 || !strings.Contains(shown(m), "Size ▼") {
		t.Errorf("by size %d first:\n%s", row, shown(m))
	}
	press(m, 'r')
	if _, row := m.Place(); row != 1 {
		t.Errorf("by size, least first: %d", row)
	}
	press(m, 's', 'G')
	if _, row := m.Place(); row != 2 {
		t.Errorf("in the order of the file %d is last", row)
	}
}

func TestTabsAndPages(t *testing.T) {
	m := New("model", []TabOf{rows("a", "b"), {Title: "Metadata", Empty: "No metadata.", Columns: []Column{{Title: "Key"}}}})
	if got := press(m, '2'); got != Refresh || !strings.Contains(shown(m), "No metadata.") {
		t.Errorf("%v:\n%s", got, shown(m))
	}
	if press(m, '/', 'x', '9', Tab) != Refresh || press(m, Down, Enter) != Open {
		t.Error("a tab that cannot be searched takes keys")
	}
	if tab, row := m.Place(); tab != 0 || row != 1 {
		t.Errorf("tab %d, row %d", tab, row)
	}
	var text []Line
	for i := range 100 {
		text = append(text, Line{Text: fmt.Sprintf("line %d", i)})
	}
	press(m, Enter)
	m.Show(Page{Title: "b", Lines: text})
	press(m, 'G')
	if !strings.Contains(shown(m), "line 99") {
		t.Errorf("the end:\n%s", shown(m))
	}
	if press(m, 'n') != Nothing || press(m, 'p') != Open {
		t.Error("the page of the next row")
	}
	if _, row := m.Place(); row != 0 {
		t.Errorf("row %d", row)
	}
	if press(m, Escape) != Close || m.Reading() {
		t.Error("the page stays open")
	}
	if press(m, '?') != Refresh || !strings.Contains(shown(m), "other key goes back") {
		t.Errorf("help:\n%s", shown(m))
	}
	if press(m, 'q') == Quit || press(m, 'q') != Quit || press(m, Interrupt) != Quit {
		t.Error("q leaves the help first, and then the program")
	}
}

// Whatever a file says, the screen gets the attributes of package browse alone.
func TestNoTextActsOnTheTerminal(t *testing.T) {
	evil := "x\x1b[2J\x1b]0;owned\x07\x9b31m\r\n\b\x00\u202e\u200b\u2028" + strings.Repeat("é\u0301日", 40)
	tab := rows(evil, "\x1b[31m"+evil)
	tab.Title, tab.Style = evil, func(int) Style { return Bad }
	m := New(evil, []TabOf{tab, {Title: "Empty", Empty: evil, Columns: []Column{{Title: evil}}}})
	check := func() {
		t.Helper()
		for w := 1; w < 120; w += 13 {
			for h := 1; h < 30; h += 7 {
				m.Resize(w, h)
				fits(t, m, w, h)
				for _, l := range m.Draw() {
					if i := strings.IndexFunc(plainText(l), func(r rune) bool {
						return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x200b && r < 0x2010 || r >= 0x2028 && r < 0x202f
					}); i >= 0 {
						t.Fatalf("at %d: %q", i, l)
					}
				}
			}
		}
	}
	check()
	press(m, append([]Key{'/'}, typed("\u202e\u200b")...)...)
	check()
	press(m, Escape, '2')
	check()
	m.SetStatus(evil)
	check()
	press(m, '1', Enter)
	m.Show(Page{Title: evil, Lines: []Line{{evil, Good}, {strings.Repeat(evil, 20), Plain}}})
	check()
}

func TestColoursAreOmittedOnRequest(t *testing.T) {
	tab := rows("a", "b")
	tab.Style = func(int) Style { return Bad }
	m := New("model", []TabOf{tab})
	if !strings.Contains(strings.Join(m.Draw(), ""), "\x1b[31m") {
		t.Error("no colour")
	}
	m.Colours = false
	if text := strings.Join(m.Draw(), ""); strings.Contains(text, "\x1b[3") || !strings.Contains(text, "\x1b[7m") {
		t.Errorf("%q", text)
	}
}

func TestNarrowTerminalsKeepTheNames(t *testing.T) {
	m := New("model", []TabOf{rows("model.layers.0.self_attn.q_proj.weight")})
	m.Resize(80, 10)
	if !strings.Contains(shown(m), "q_proj.weight") || !strings.Contains(shown(m), "F32") {
		t.Errorf("wide:\n%s", shown(m))
	}
	m.Resize(30, 10)
	if text := shown(m); strings.Contains(text, "F32") || !strings.Contains(text, "…") || !strings.Contains(text, "weight") {
		t.Errorf("narrow:\n%s", text)
	}
}

func TestLongLinesAreFolded(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want []string
	}{
		{"one two three", 7, []string{"one two", "three"}}, {"unbroken", 3, []string{"unb", "rok", "en"}}, {"  longer", 4, []string{"  lo", "nger"}},
		{"日本語", 4, []string{"日本", "語"}}, {"日", 1, []string{"日"}}, {"", 3, []string{""}},
	} {
		m := New("", []TabOf{rows("a")})
		m.Resize(c.n, 10)
		press(m, Enter)
		m.Show(Page{Lines: []Line{{Text: c.s}}})
		m.foldPage(c.n)
		var got []string
		for _, s := range m.folds {
			got = append(got, s.text)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%q at %d: %q, want %q", c.s, c.n, got, c.want)
		}
	}
	m := New("", []TabOf{rows("a")})
	press(m, Enter)
	m.Show(Page{Lines: []Line{{Text: strings.Repeat("x", 4<<20)}}}) // of quadratic time it would be hours
	m.Draw()
	if len(m.folds) != 4<<20/80+1 {
		t.Errorf("%d lines", len(m.folds))
	}
}

// Whatever keys are typed, the drawn text fits the screen, and the cursor is on a row.
func TestAnyKeysAtAnySize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const said = "jkhlgGsrnpbq?/v19=-`tm*u'JKec[]<>,. \r\n\t\x7f\x1b[ABCDHFZO5~;\x03\x15ab.\xff\xc3\xa9"
	for range 80 {
		m := New("model", []TabOf{modules(t, "b.weight", "a.bias", "a.weight.long"), {Title: "x", Columns: []Column{{Title: "y"}}}})
		w, h := r.IntN(200), r.IntN(60)
		m.Resize(w, h)
		var d Decoder
		for range 60 {
			at := r.IntN(len(said))
			m.Take(Input{[]Key{Click, WheelUp, WheelDown}[r.IntN(3)], r.IntN(200), r.IntN(60)})
			for _, k := range d.Feed([]byte(said[at:min(at+1+r.IntN(3), len(said))])) {
				if m.Take(k) == Open {
					m.Show(Page{Title: "page", Lines: []Line{{said, Good}, {strings.Repeat(said, r.IntN(20)), Plain}}})
				}
				fits(t, m, max(w, 1), max(h, 1))
			}
			if r.IntN(10) == 0 {
				w, h = r.IntN(100), r.IntN(40)
				m.Resize(w, h)
			}
		}
		if _, row := m.Place(); row >= 3 {
			t.Fatalf("the cursor stands on %d", row)
		}
	}
}

// modules is a tab with a tree of names, each of 10 bytes.
func modules(t *testing.T, names ...string) TabOf {
	t.Helper()
	list := make([]Row, len(names))
	for i, name := range names {
		list[i] = Row{Name: name, Kind: "F32", Size: 10, Elements: 3}
	}
	tree, err := NewTree(list, func(int64) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	tree.Columns = []Column{{Title: "Module"}, {Title: "Kind", Width: 8, Drop: 2}, {Title: "Size", Width: 6, Right: true, Drop: 1, Compare: func(_, _ int) int { return 0 }}}
	tree.Cell = func(n *Node, column int) string { return []string{"", n.Kind, fmt.Sprint(n.Size)}[column] }
	tab := rows(names...)
	tab.Tree, tab.Detail = tree, true
	return tab
}

// outline is what the rows of the list show, with their indents.
func outline(m *Model) string {
	var out []string
	for i := range m.tree().nodes {
		n := &m.tree().nodes[i]
		sign := ""
		if n.Row < 0 {
			sign = map[bool]string{false: "+", true: "-"}[n.opened]
		}
		out = append(out, strings.Repeat(" ", n.depth)+sign+m.tree().label(n))
	}
	return strings.Join(out, "\n")
}

func TestTheTreeOfModules(t *testing.T) {
	names := []string{"model.layers.10.up.w", "model.layers.2.up.w", "model.layers.2.up.b", "head", "model.layers.2.down.w", "model.layers.10.up.b"}
	m := New("model", []TabOf{modules(t, names...)})
	for _, step := range []struct {
		keys []Key
		want string
	}{
		{nil, "head\n+model.layers"},
		{[]Key{Down, Right}, "head\n-model.layers\n +2\n +10.up"},
		{[]Key{Down, Enter, 'l', 'l'}, "head\n-model.layers\n -2\n  down.w\n  +up\n +10.up"},
		{[]Key{'='}, "head\n-model.layers\n -2\n  down.w\n  -up\n   b\n   w\n -10.up\n  b\n  w"},
		{[]Key{'-'}, "head\n+model.layers"},
		{append([]Key{'/'}, typed("2 w\r")...), "-model.layers.2\n down.w\n up.w"},
		{[]Key{Down, Escape}, "head\n-model.layers\n -2\n  down.w\n  +up\n +10.up"},
		{[]Key{'s'}, "-model.layers\n -2\n  +up\n  down.w\n +10.up\nhead"},
		{[]Key{'s', '-', 'G', 'h'}, "head\n+model.layers"},
	} {
		var in []Input
		for _, k := range step.keys {
			if k == '\r' {
				k = Enter
			}
			in = append(in, Input{Key: k})
		}
		for _, k := range in {
			m.Take(k)
		}
		if got := outline(m); got != step.want {
			t.Fatalf("%v:\n%s\nwant\n%s", step.keys, got, step.want)
		}
	}
	press(m, 'G')
	n, name := m.Module()
	if name != "model.layers" || n.Tensors != 5 || n.Size != 50 || n.Elements != 15 || n.Of != 60 {
		t.Errorf("%q %+v", name, n)
	}
	var of []int
	m.Rows(n, func(row int) { of = append(of, row) })
	if fmt.Sprint(of) != "[4 2 1 5 0]" {
		t.Errorf("rows %v", of)
	}
	press(m, 't')
	if m.tree() != nil || m.count() != 6 || !strings.Contains(shown(m), " Name ") {
		t.Errorf("no list:\n%s", shown(m))
	}
	press(m, 'G', '`')
	if _, row := m.Place(); row != 5 {
		t.Errorf("row %d in the tree", row)
	}
}

func TestMarks(t *testing.T) {
	m := New("model", []TabOf{modules(t, "a.x", "a.y", "b.x", "c"), rows("other")})
	press(m, 'm', '=', 'G', 'm')
	if fmt.Sprint(m.Marked()) != "[0 1 3]" || !strings.Contains(shown(m), "3 marked") {
		t.Errorf("marked %v:\n%s", m.Marked(), shown(m))
	}
	press(m, '\'')
	if _, row := m.Place(); row != 0 {
		t.Errorf("after the last mark comes row %d", row)
	}
	press(m, 'm')
	if press(m, 'g'); fmt.Sprint(m.Marked()) != "[1 3]" || !strings.Contains(shown(m), "○▾ a") || !strings.Contains(shown(m), "●    y") {
		t.Errorf("marked %v:\n%s", m.Marked(), shown(m))
	}
	press(m, '*')
	if got := outline(m); got != "a.y\nc" {
		t.Errorf("the marked alone:\n%s", got)
	}
	press(m, 'u')
	if got := outline(m); len(m.Marked()) > 0 || got != "-a\n x\n y\nb.x\nc" {
		t.Errorf("marked %v:\n%s", m.Marked(), got)
	}
	if press(m, '2', 'm') != Nothing {
		t.Error("rows of another tab can be marked")
	}
}

func TestTheMouse(t *testing.T) {
	m := New("model", []TabOf{modules(t, "a.x", "a.y", "b.x", "c"), rows("other")})
	m.Resize(100, 20)
	click := func(x, y int) Request {
		in := new(Decoder).Feed(fmt.Appendf(nil, "\x1b[<0;%d;%dM\x1b[<0;%d;%dm", x+1, y+1, x+1, y+1))
		if len(in) != 1 {
			t.Fatalf("a click is %v", in)
		}
		return m.Take(in[0])
	}
	if click(3, 4); m.states[0].cursor != 1 {
		t.Errorf("row %d was clicked", m.states[0].cursor)
	}
	if click(3, 3); outline(m) != "+a\nb.x\nc" {
		t.Errorf("one click opens:\n%s", outline(m))
	}
	if click(3, 3); outline(m) != "-a\n x\n y\nb.x\nc" {
		t.Errorf("two clicks:\n%s", outline(m))
	}
	if click(3, 4); click(3, 4) != Open || !m.Reading() {
		t.Error("two clicks do not open a row")
	}
	m.Show(Page{Title: "x", Lines: make([]Line, 100)})
	if m.Take(Input{WheelDown, 3, 3}); m.top != 3 {
		t.Errorf("the wheel scrolls to %d", m.top)
	}
	press(m, Escape)
	if m.Take(Input{WheelDown, 3, 4}); m.states[0].cursor != 4 {
		t.Errorf("the wheel goes to %d", m.states[0].cursor)
	}
	if m.Take(Input{WheelDown, 80, 5}); m.top != 6 || m.states[0].cursor != 4 {
		t.Errorf("over the pane the wheel scrolls to %d and goes to %d", m.top, m.states[0].cursor)
	}
	tabs := strings.Split(shown(m), "\n")[1]
	if click(width.Of(tabs[:strings.LastIndex(tabs, "2 ")]), 1); m.tab != 1 {
		t.Errorf("tab %d after a click on the second in %q", m.tab, tabs)
	}
	if click(2, 2); m.states[1].sort != 0 {
		t.Errorf("a click on the heads sorts by %d", m.states[1].sort)
	}
	for _, bad := range []string{"\x1b[<0;0;1M", "\x1b[<1;2;2M", "\x1b[<0;2M", "\x1b[<0;2;99999999999999999999M", "\x1b[<M", "\x1b[<35;1;1M"} {
		if in := new(Decoder).Feed([]byte(bad)); len(in) > 0 {
			t.Errorf("%q is %v", bad, in)
		}
	}
}

// The pane is beside the list, below it in a narrow terminal, and away in a small one; its lines
// are drawn for its width.
func TestThePaneFollowsTheTerminal(t *testing.T) {
	m := New("model", []TabOf{modules(t, "a.x", "b.y", "c")})
	drawn := 0
	m.Show(Page{Title: "page", Drawn: func(columns int) []Line { drawn = columns; return []Line{{Text: strings.Repeat("z", columns)}} }})
	for _, c := range []struct{ w, h, columns int }{{200, 30, 108}, {120, 24, 64}, {80, 24, 40}, {60, 24, 60}, {40, 24, 40}} {
		m.Resize(c.w, c.h)
		fits(t, m, c.w, c.h)
		if drawn != c.columns || !m.Follows() || !strings.Contains(shown(m), strings.Repeat("z", c.columns)) {
			t.Errorf("%v: drawn for %d columns, want %d:\n%s", c, drawn, c.columns, shown(m))
		}
	}
	m.Resize(40, 12)
	if fits(t, m, 40, 12); m.Follows() || strings.Contains(shown(m), "zz") {
		t.Errorf("a pane in a small terminal:\n%s", shown(m))
	}
}

// 100,000 rows, and names of 10,000 parts, are arranged in the time that a key may take.
func TestLargeAndDeepTrees(t *testing.T) {
	var many, deep []string
	for i := range 100_000 {
		many = append(many, fmt.Sprintf("model.layers.%d.experts.%d.w", i/100, i%100))
	}
	for i := range 300 {
		deep = append(deep, strings.Repeat("a/", 30*i)+"w")
	}
	for _, names := range [][]string{many, deep, append([]string{strings.Repeat("x.", 10_000)}, strings.Repeat("x.", 9_999))} {
		m := New("model", []TabOf{modules(t, names...)})
		press(m, '=', 'G', '=', 'g', 's', 's', 'm', '*', '*', 'u')
		m.Resize(80, 24)
		fits(t, m, 80, 24)
		leaves := 0
		for _, n := range m.tree().nodes {
			if n.Row >= 0 {
				leaves++
			}
		}
		if press(m, '='); len(m.tree().nodes) > 2*len(names) || leaves > len(names) {
			t.Errorf("%d nodes of %d names", len(m.tree().nodes), len(names))
		}
		press(m, append([]Key{'/'}, typed("nothing has this")...)...)
		if fits(t, m, 80, 24); m.count() != 0 {
			t.Errorf("%d rows are found", m.count())
		}
	}
	if _, err := NewTree(make([]Row, 100), func(int64) error { return errors.New("no more") }); err == nil {
		t.Error("a tree is not paid for")
	}
}
