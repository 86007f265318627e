package main

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/output"
)

//go:embed page.html
var frame string

//go:embed style.css
var style string

//go:embed page.js
var script string

// source is the address of files that are not pages.
const source = "https://github.com/anamnesis-go/anamnesis/blob/main/"

// sections list the pages in order: tasks first, then reference.
var sections = []struct {
	title string
	files []string
}{
	{"Start in five minutes", []string{"docs/index.md", "docs/start-host.md", "docs/start-ci.md", "docs/start-security.md", "docs/start-ml.md"}},
	{"Learn by doing", []string{"docs/tutorial-look.md", "docs/tutorial-upload.md", "docs/tutorial-ci.md", "docs/tutorial-gguf.md", "docs/tutorial-dequantize.md", "docs/tutorial-compare.md"}},
	{"Understand", []string{"docs/concept-verdict.md", "docs/concept-account.md", "docs/concept-scheme.md", "docs/concept-pickle.md"}},
	{"Come from", []string{"docs/from-picklescan.md", "docs/from-llamacpp.md"}},
	{"Do", []string{
		"docs/gate-go.md", "docs/gate-python.md", "docs/gate-nginx.md", "docs/pipelines.md", "docs/audit-folder.md", "docs/dequantize-deepseek.md",
		"docs/quantize-q4-k-m.md", "docs/read-tensor-go.md", "docs/view.md", "docs/jobs.md", "docs/checkpoints.md", "docs/llamacpp.md", "docs/remote.md", "docs/evidence.md", "python/README.md", "web/README.md",
	}},
	{"Know", []string{
		"docs/architecture.md", "docs/formats.md", "docs/pickles.md", "docs/quantize.md", "docs/model-types.md", "docs/loads.md", "docs/hosts.md", "docs/adapters.md", "docs/comparison.md",
		"docs/performance.md", "docs/cli.md",
	}},
	{"Trust", []string{"SECURITY.md", "docs/soundness.md", "docs/fuzzing.md", "docs/release.md", "docs/rules/README.md", "CHANGELOG.md", "CONTRIBUTING.md"}},
}

// names replace titles that are too vague in a list.
var names = map[string]string{"docs/index.md": "Overview", "python/README.md": "The Python package", "web/README.md": "The page that uploads nothing", "docs/rules/README.md": "The rules",
	"docs/tutorial-look.md": "Look at a model file", "docs/tutorial-upload.md": "Gate an upload", "docs/tutorial-ci.md": "Check models in CI", "docs/tutorial-gguf.md": "Make a GGUF file and quantize it",
	"docs/tutorial-dequantize.md": "Dequantize a model", "docs/tutorial-compare.md": "Compare two models", "docs/concept-verdict.md": "Verdicts", "docs/concept-account.md": "Accounts", "docs/concept-scheme.md": "Schemes",
	"docs/from-picklescan.md": "picklescan and modelscan", "docs/from-llamacpp.md": "convert_hf_to_gguf and llama-quantize"}

// A page is a rendered document.
type page struct {
	file, out, title string
	body             string
	anchors          []string
	headings         []heading
	links            []string // as they are written in the document
}

type heading struct {
	level    int
	id, text string
}

type site struct {
	root  string
	pages map[string]*page // by file
	order []string
}

// load reads and renders every document. A document in docs without a section is an error,
// except for the pages of rules, to which the list of rules links.
func load(root string) (*site, error) {
	s := &site{root: root, pages: map[string]*page{}}
	for _, sec := range sections {
		s.order = append(s.order, sec.files...)
	}
	for _, pattern := range []string{"docs/*.md", "docs/rules/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			rel, err := filepath.Rel(root, f)
			if err != nil {
				return nil, err
			}
			if rel = filepath.ToSlash(rel); !slices.Contains(s.order, rel) {
				if !strings.HasPrefix(rel, "docs/rules/") {
					return nil, fmt.Errorf("%s is in no section", rel)
				}
				s.order = append(s.order, rel)
			}
		}
	}
	for _, file := range s.order {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		s.pages[file] = &page{file: file, out: outName(file)}
		s.pages[file].title, _, _ = strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
	}
	for _, p := range s.pages {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.file)))
		if err != nil {
			return nil, err
		}
		r := &renderer{site: s, page: p}
		p.body = r.render(string(text))
	}
	return s, nil
}

// outName returns the flat name of a page: rules-zip.html for docs/rules/zip.md, web.html for
// web/README.md.
func outName(file string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(file, "docs/"), ".md")
	name = strings.TrimSuffix(name, "/README")
	return strings.ToLower(strings.ReplaceAll(name, "/", "-")) + ".html"
}

// target returns the target of a link: another page, or the file in the repository.
func (s *site) target(p *page, link string) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "#") {
		return link
	}
	file, anchor, _ := strings.Cut(link, "#")
	file = path.Join(path.Dir(p.file), file)
	if anchor != "" {
		anchor = "#" + anchor
	}
	if to, ok := s.pages[file]; ok {
		return to.out + anchor
	}
	if file == "README.md" {
		return "index.html"
	}
	return source + file + anchor
}

func (s *site) nav(current *page) string {
	var out strings.Builder
	for _, sec := range sections {
		fmt.Fprintf(&out, "<h2>%s</h2>\n<ul>\n", html.EscapeString(sec.title))
		for _, file := range sec.files {
			p, here := s.pages[file], ""
			name := cmp.Or(names[file], p.title)
			if p == current {
				here = ` aria-current="page"`
			}
			fmt.Fprintf(&out, "<li><a href=\"%s\"%s>%s</a></li>\n", p.out, here, html.EscapeString(name))
		}
		out.WriteString("</ul>\n")
	}
	return out.String()
}

// contents returns the headings of a page below its title as a list of links, "" for a page
// that needs none.
func contents(p *page) string {
	var out strings.Builder
	level, n := 1, 0
	for _, h := range p.headings {
		if h.level != 2 && h.level != 3 || h.level > level+1 {
			continue
		}
		for ; level < h.level; level++ {
			out.WriteString("<ul>\n")
		}
		for ; level > h.level; level-- {
			out.WriteString("</ul></li>\n")
		}
		fmt.Fprintf(&out, "<li><a href=\"#%s\">%s</a>", html.EscapeString(h.id), html.EscapeString(h.text))
		n++
	}
	for ; level > 2; level-- {
		out.WriteString("</ul></li>\n")
	}
	if level == 2 {
		out.WriteString("</ul>\n")
	}
	if n < 3 {
		return ""
	}
	list := closed.ReplaceAllString(out.String(), "</a></li>\n$1")
	return "<details class=\"toc narrow\"><summary>On this page</summary>\n" + list + "</details>\n" +
		"<nav class=\"toc broad\" aria-label=\"On this page\"><h2>On this page</h2>\n" + list + "</nav>\n"
}

// closed is the end of an item that has no items below it.
var closed = regexp.MustCompile(`</a>(<li>|</ul>)`)

// around links to the pages before and after one, in the order of the contents.
func (s *site) around(p *page) string {
	link := func(at int, rel, word string) string {
		if at < 0 || at >= len(s.order) {
			return ""
		}
		to := s.pages[s.order[at]]
		return fmt.Sprintf("<a rel=\"%s\" href=\"%s\"><small>%s</small> %s</a>\n", rel, to.out, word, html.EscapeString(cmp.Or(names[to.file], to.title)))
	}
	at := slices.Index(s.order, p.file)
	return "<nav class=\"around\" aria-label=\"Next and previous page\">\n" + link(at-1, "prev", "Previous") + link(at+1, "next", "Next") + "</nav>\n"
}

// policy allows a page its own style and scripts, by their digests, and nothing else.
func policy(scripts ...string) string {
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	allowed := ""
	for _, text := range scripts {
		allowed += digest(text)
	}
	return "default-src 'none'; style-src" + digest(style) + "; script-src" + allowed + "; img-src data:; base-uri 'none'; form-action 'none'"
}

func (s *site) write(out string) error {
	if err := output.MkdirAll(out); err != nil {
		return err
	}
	put := func(name string, values ...string) error {
		values = append(values, "@STYLE@", "<style>"+style+"</style>", "@SCRIPT@", "<script>"+script+"</script>")
		return output.WriteFile(filepath.Join(out, name), []byte(strings.NewReplacer(values...).Replace(frame)), output.Options{Force: true, NoSync: true})
	}
	for _, file := range s.order {
		p := s.pages[file]
		end := s.around(p) + "<p class=\"source\"><a href=\"" + source + p.file + "\">This page in the repository</a></p>\n"
		if err := put(p.out, "@POLICY@", policy(script), "@TITLE@", html.EscapeString(p.title), "@NAV@", s.nav(p), "@CONTENTS@", contents(p), "@BODY@", p.body+end); err != nil {
			return err
		}
	}
	body, err := s.searchPage()
	if err != nil {
		return err
	}
	return put("search.html", "@POLICY@", policy(script, finder), "@TITLE@", "Search", "@NAV@", s.nav(nil), "@CONTENTS@", "", "@BODY@", body)
}
