package width

import "testing"

func TestColumnsOfText(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "日本語": 6, "e\u0301": 1, "한국": 4, "Ω": 1, "🙂": 2, "ｆｕｌｌ": 8, "…": 1} {
		if got := Of(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
	for i := 1; i < len(wide); i++ {
		if wide[i].lo <= wide[i-1].hi || wide[i].hi < wide[i].lo {
			t.Errorf("row %d of wide is out of order", i)
		}
	}
}

func TestCutColumns(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"abcdef", 1, "…"}, {"abcdef", 0, ""},
		{"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"日本語", 2, "…"},
	} {
		got := Cut(c.s, c.n)
		if got != c.want || Of(got) > c.n {
			t.Errorf("%q at %d: %q, want %q", c.s, c.n, got, c.want)
		}
	}
	if got := Pad("日本", 6); got != "日本  " {
		t.Errorf("%q", got)
	}
}

func TestCutMiddle(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"short", 5, "short"}, {"abcdefghij", 9, "abc…fghij"}, {"abcdefghij", 2, "…j"}, {"abcdefghij", 1, "…"}, {"abc", 0, ""},
		{"日本語日本語", 7, "日…本語"}, {"e\u0301e\u0301e\u0301e\u0301", 3, "…e\u0301e\u0301"},
	} {
		got := Middle(c.s, c.n)
		if got != c.want || Of(got) > c.n {
			t.Errorf("Middle(%q, %d) = %q instead of %q", c.s, c.n, got, c.want)
		}
	}
}

func TestNamesAreCutBeforeTheirLayer(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"model.layers.10.mlp.up_proj.weight", 40, "model.layers.10.mlp.up_proj.weight"},
		{"model.layers.10.mlp.up_proj.weight", 30, "model.la…10.mlp.up_proj.weight"},
		{"model.layers.10.mlp.up_proj.weight", 22, "…10.mlp.up_proj.weight"},
		{"model.layers.10.mlp.up_proj.weight", 20, "…10…p.up_proj.weight"},
		{"model.layers.10.mlp.up_proj.weight", 16, "…10…_proj.weight"},
		{"model.layers.10.mlp.up_proj.weight", 15, "model.…j.weight"},
		{"model.layers.10.mlp.experts.127.w1.weight", 20, "model.…127.w1.weight"},
		{"10.a.b", 4, "1….b"}, {"a.10.b", 5, "…10.b"}, {"v10.layer2x.weight", 9, "v10…eight"}, {"日.10", 4, "…10"},
	} {
		got := Name(c.s, c.n)
		if got != c.want || Of(got) > c.n {
			t.Errorf("Name(%q, %d) = %q instead of %q", c.s, c.n, got, c.want)
		}
	}
}

func TestBreakColumns(t *testing.T) {
	for _, c := range []struct {
		s          string
		n          int
		line, rest string
	}{
		{"one two", 7, "one two", ""}, {"one two", 6, "one", "two"}, {"  one  two", 6, "  one", "two"}, {"one two three", 7, "one two", "three"},
		{"  longer than that", 3, "  longer", "than that"}, {"unbroken", 3, "unbroken", ""}, {"日本 語", 4, "日本", "語"}, {"", 3, "", ""}, {"   ", 1, "", ""},
	} {
		if line, rest := Break(c.s, c.n); line != c.line || rest != c.rest {
			t.Errorf("Break(%q, %d) = %q, %q", c.s, c.n, line, rest)
		}
	}
}
