package browse

import (
	"cmp"
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
			got := whole.Feed([]byte(c.sent))
			if c.want != nil && fmt.Sprint(got) != fmt.Sprint(c.want) || whole.Waiting() {
				t.Errorf("%v, want %v", got, c.want)
			}
			var bytewise Decoder
			var each []Key
			for i := range len(c.sent) {
				each = append(each, bytewise.Feed([]byte{c.sent[i]})...)
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
	if k := d.Flush(); len(k) != 1 || k[0] != Escape || d.Waiting() {
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
	m.Show(Page{"b", text})
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
	if press(m, '?') != Refresh || !strings.Contains(shown(m), "any key goes back") {
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
	m.Show(Page{evil, []Line{{evil, Good}, {strings.Repeat(evil, 20), Plain}}})
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
		m.Show(Page{Lines: []Line{{Text: c.s}}})
		m.foldPage()
		var got []string
		for _, s := range m.folds {
			got = append(got, s.text)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%q at %d: %q, want %q", c.s, c.n, got, c.want)
		}
	}
	m := New("", []TabOf{rows("a")})
	m.Show(Page{Lines: []Line{{Text: strings.Repeat("x", 4<<20)}}}) // of quadratic time it would be hours
	m.Draw()
	if len(m.folds) != 4<<20/80+1 {
		t.Errorf("%d lines", len(m.folds))
	}
}

// Whatever keys are typed, the drawn text fits the screen, and the cursor is on a row.
func TestAnyKeysAtAnySize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const said = "jkhlgGsrnpbq?/v19 \r\n\t\x7f\x1b[ABCDHFZO5~;\x03\x15ab.\xff\xc3\xa9"
	for range 80 {
		m := New("model", []TabOf{rows("b.weight", "a.bias", "a.weight.long"), {Title: "x", Columns: []Column{{Title: "y"}}}})
		w, h := r.IntN(200), r.IntN(60)
		m.Resize(w, h)
		var d Decoder
		for range 60 {
			at := r.IntN(len(said))
			for _, k := range d.Feed([]byte(said[at:min(at+1+r.IntN(3), len(said))])) {
				if m.Press(k) == Open {
					m.Show(Page{"page", []Line{{said, Good}, {strings.Repeat(said, r.IntN(20)), Plain}}})
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
