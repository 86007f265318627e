package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"os"
	"path"
	"path/filepath"
	"regexp"
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
		"```sh hub\n# why\nls <x\n```":                            "<pre class=\"commands\" tabindex=\"0\"><code><span class=\"no\"># why</span>\nls &lt;x\n</code></pre>\n",
		"- one\n  - two\n- three":                                 "<ul>\n<li>one\n<ul>\n<li>two</li>\n</ul>\n</li>\n<li>three</li>\n</ul>\n",
		"## A\n## A\n| | b |\n|---|---|\n| 1 | 2 |":               "<h2 id=\"a\">A</h2>\n<h2 id=\"a-1\">A</h2>\n<div class=\"wide\" tabindex=\"0\"><table>\n<tr><td></td><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr>\n</table></div>\n",
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
	names := map[string]string{"search.html": "the search"}
	for _, p := range s.pages {
		if other, ok := names[p.out]; ok {
			t.Errorf("%s and %s are one page", p.file, other)
		}
		names[p.out] = p.file
		text, err := os.ReadFile(filepath.Join(dir, p.out))
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{" style=", "@BODY@", "@SCRIPT@", "\x00"} {
			if strings.Contains(string(text), bad) {
				t.Errorf("%s holds %q", p.out, bad)
			}
		}
		asksNothing(t, p.out, string(text), 1)
	}
	text, err := os.ReadFile(filepath.Join(dir, "search.html"))
	if err != nil {
		t.Fatal(err)
	}
	asksNothing(t, "search.html", string(text), 2)
}

var (
	run    = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	loaded = regexp.MustCompile(`(?:src|srcset|data|poster|<link[^>]* href)="([^"]*)"`)
)

// asksNothing checks that a page loads nothing, and that its policy has the digest of each script
// in it and of no others.
func asksNothing(t *testing.T, name, text string, scripts int) {
	t.Helper()
	_, allowed, _ := strings.Cut(text, "script-src ")
	allowed, _, _ = strings.Cut(allowed, ";")
	var want []string
	for _, m := range run.FindAllStringSubmatch(text, -1) {
		sum := sha256.Sum256([]byte(m[1]))
		want = append(want, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	slices.Sort(want)
	got := strings.Fields(allowed)
	slices.Sort(got)
	if len(want) != scripts || !slices.Equal(want, got) {
		t.Errorf("%s: the policy allows %q, the page has %q", name, got, want)
	}
	if n := strings.Count(text, "<script"); n != scripts && (name != "search.html" || n != scripts+1) {
		t.Errorf("%s: %d scripts", name, n)
	}
	for _, m := range loaded.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "data:image/png;base64,") {
			t.Errorf("%s loads %.60q", name, m[1])
		}
	}
}

// Each heading of each page is a place that the search finds, with the words below it.
func TestTheIndexHasEveryHeading(t *testing.T) {
	s, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	body, err := s.searchPage()
	if err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(body, `id="index">`)
	data, _, _ = strings.Cut(data, "</script>") // the first one: no text of a document may end the index
	var x index
	if err := json.Unmarshal([]byte(data), &x); err != nil {
		t.Fatal(err)
	}
	places := map[string]string{}
	for _, e := range x.Entries {
		places[x.Pages[e.Page][0]+"#"+e.ID] = e.Head + "\n" + e.Text
	}
	n := 0
	for _, p := range s.pages {
		for _, h := range p.headings {
			n++
			if text, ok := places[p.out+"#"+h.id]; !ok || !strings.HasPrefix(text, h.text+"\n") {
				t.Errorf("%s#%s %q is not in the index: %.60q", p.out, h.id, h.text, text)
			}
		}
	}
	if n != len(places) || n < 500 {
		t.Errorf("%d headings, %d places of the index", n, len(places))
	}
	if text := places["index.html#install"]; !strings.Contains(text, "pip install ./python") || strings.Contains(text, "<pre") {
		t.Errorf("the text of a section is %q", text)
	}
}

// Pages follow each other in the order of the contents, and every link of their own contents has
// a heading.
func TestPagesHaveContentsAndNeighbours(t *testing.T) {
	s, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	for n, file := range s.order {
		p := s.pages[file]
		next := strings.Contains(s.around(p), `rel="next"`)
		if next != (n+1 < len(s.order)) || next && !strings.Contains(s.around(p), `rel="next" href="`+s.pages[s.order[n+1]].out+`"`) {
			t.Errorf("%s: next to it are %s", file, s.around(p))
		}
		list := contents(p)
		for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(list, -1) {
			if !slices.Contains(p.anchors, html.UnescapeString(m[1])) {
				t.Errorf("%s: the contents lead to %s", file, m[1])
			}
		}
		if strings.Count(list, "<li>") != strings.Count(list, "</li>") || strings.Count(list, "<ul>") != strings.Count(list, "</ul>") {
			t.Errorf("%s: contents that are not closed: %s", file, list)
		}
	}
	if list := contents(s.pages["SECURITY.md"]); strings.Count(list, "<li>") < 6 {
		t.Errorf("the contents of SECURITY.md are %s", list)
	}
}
