package main

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A link of a document leads to a page, a place in it, or a file of the repository.
func TestLinksLeadSomewhere(t *testing.T) {
	s, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, p := range s.pages {
		for _, link := range p.links {
			if strings.Contains(link, "://") {
				continue
			}
			seen++
			file, anchor, _ := strings.Cut(link, "#")
			to := p
			if file != "" {
				name := path.Join(path.Dir(p.file), file)
				if to = s.pages[name]; to == nil {
					if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(name))); err != nil {
						t.Errorf("%s: %s leads nowhere", p.file, link)
					}
					continue
				}
			}
			if anchor != "" && !slices.Contains(to.anchors, anchor) {
				t.Errorf("%s: %s has no such heading; there are %s", p.file, link, strings.Join(to.anchors, " "))
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d links", seen)
	}
}

// What a document holds stays text: no page has markup, a script or an address of its own.
func TestDocumentsCannotAddMarkup(t *testing.T) {
	s := &site{root: t.TempDir(), pages: map[string]*page{}}
	for text, want := range map[string]string{
		"a <script>x</script> `<b>` & [x](javascript:alert\"1\")": "<p>a &lt;script&gt;x&lt;/script&gt; <code>&lt;b&gt;</code> &amp; <a href=\"" + source + "docs/javascript:alert&#34;1&#34;\">x</a></p>\n",
		"# A `b` heading\n\n- one\n- two\n  more":                 "<h1 id=\"a-b-heading\">A <code>b</code> heading</h1>\n<ul>\n<li>one</li>\n<li>two\nmore</li>\n</ul>\n",
		"| a | b |\n|---|---|\n| `x\\|y` | **z** |":               "<div class=\"wide\" tabindex=\"0\"><table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td><code>x|y</code></td><td><strong>z</strong></td></tr>\n</table></div>\n",
		"`a.TestNamesThatAreLongerThanAColumnBreakBetweenWords`":  "<p><code>a.<wbr>Test<wbr>Names<wbr>That<wbr>Are<wbr>Longer<wbr>Than<wbr>AColumn<wbr>Break<wbr>Between<wbr>Words</code></p>\n",
		"```sh hub\n# why\nls <x\n```":                            "<pre tabindex=\"0\"><code><span class=\"no\"># why</span>\nls &lt;x\n</code></pre>\n",
	} {
		r := &renderer{site: s, page: &page{file: "docs/x.md"}}
		if got := r.render(text); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestPagesAreWritten(t *testing.T) {
	s, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.write(dir); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, p := range s.pages {
		if other, ok := names[p.out]; ok {
			t.Errorf("%s and %s are one page", p.file, other)
		}
		names[p.out] = p.file
		text, err := os.ReadFile(filepath.Join(dir, p.out))
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"<script", " style=", " src=", "@BODY@", "\x00"} {
			if strings.Contains(string(text), bad) {
				t.Errorf("%s holds %q", p.out, bad)
			}
		}
	}
}
