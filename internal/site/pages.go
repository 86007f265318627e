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
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/output"
)

//go:embed page.html
var frame string

//go:embed style.css
var style string

// source is the address of files that are not pages.
const source = "https://github.com/anamnesis-go/anamnesis/blob/main/"

// sections list the pages in order: tasks first, then reference.
var sections = []struct {
	title string
	files []string
}{
	{"Start in five minutes", []string{"docs/index.md", "docs/start-host.md", "docs/start-ci.md", "docs/start-security.md", "docs/start-ml.md"}},
	{"Do", []string{
		"docs/gate-go.md", "docs/gate-python.md", "docs/gate-nginx.md", "docs/pipelines.md", "docs/audit-folder.md", "docs/dequantize-deepseek.md",
		"docs/quantize-q4-k-m.md", "docs/read-tensor-go.md", "docs/jobs.md", "docs/checkpoints.md", "docs/llamacpp.md", "docs/remote.md", "docs/evidence.md", "python/README.md", "web/README.md",
	}},
	{"Know", []string{
		"docs/architecture.md", "docs/formats.md", "docs/pickles.md", "docs/quantize.md", "docs/model-types.md", "docs/loads.md", "docs/hosts.md", "docs/adapters.md", "docs/comparison.md",
		"docs/performance.md", "docs/cli.md",
	}},
	{"Trust", []string{"SECURITY.md", "docs/soundness.md", "docs/fuzzing.md", "docs/release.md", "docs/rules/README.md", "CHANGELOG.md", "CONTRIBUTING.md"}},
}

// names replace titles that are too vague in a list.
var names = map[string]string{"docs/index.md": "Overview", "python/README.md": "The Python package", "web/README.md": "The page that uploads nothing", "docs/rules/README.md": "The rules"}

// A page is a rendered document.
type page struct {
	file, out, title string
	body             string
	anchors          []string
	links            []string // as they are written in the document
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

func (s *site) write(out string) error {
	if err := output.MkdirAll(out); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	for _, file := range s.order {
		p := s.pages[file]
		text := strings.NewReplacer(
			"@POLICY@", policy, "@STYLE@", "<style>"+style+"</style>", "@TITLE@", html.EscapeString(p.title),
			"@NAV@", s.nav(p), "@BODY@", p.body, "@SOURCE@", source+p.file,
		).Replace(frame)
		if err := output.WriteFile(filepath.Join(out, p.out), []byte(text), output.Options{Force: true, NoSync: true}); err != nil {
			return err
		}
	}
	return nil
}
