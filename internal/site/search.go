package main

import (
	_ "embed"
	"encoding/json"
	"html"
	"regexp"
	"strings"
)

//go:embed search.js
var finder string

var (
	headed = regexp.MustCompile(`<h[1-6] id="([^"]*)">(.*?)</h[1-6]>\n`)
	tag    = regexp.MustCompile(`(?s)<svg.*?</svg>|<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

// plain returns the text of markup.
func plain(markup string) string {
	markup = strings.NewReplacer("<wbr>", "", "</td>", " ", "</th>", " ", "</li>", " ").Replace(markup)
	return strings.TrimSpace(spaces.ReplaceAllString(html.UnescapeString(tag.ReplaceAllString(markup, "")), " "))
}

// An entry is the text below a heading.
type entry struct {
	Page int    `json:"p"`
	ID   string `json:"i"`
	Head string `json:"h"`
	Text string `json:"t"`
}

type index struct {
	Pages   [][2]string `json:"pages"` // the file and the title of each
	Entries []entry     `json:"entries"`
}

func (s *site) index() index {
	var x index
	for n, file := range s.order {
		p := s.pages[file]
		x.Pages = append(x.Pages, [2]string{p.out, p.title})
		at := headed.FindAllStringSubmatchIndex(p.body, -1)
		for i, m := range at {
			end := len(p.body)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			id, head := html.UnescapeString(p.body[m[2]:m[3]]), plain(p.body[m[4]:m[5]])
			x.Entries = append(x.Entries, entry{Page: n, ID: id, Head: head, Text: plain(p.body[m[1]:end])})
		}
	}
	return x
}

// searchPage returns the page that searches. The index is data in it, since a page that is opened
// from a folder may not fetch a file.
func (s *site) searchPage() (string, error) {
	data, err := json.Marshal(s.index()) // which escapes <, > and &
	if err != nil {
		return "", err
	}
	return `<h1>Search</h1>
<noscript><p>The search needs JavaScript. All pages are in the contents.</p></noscript>
<p id="found" role="status"></p>
<ol id="results"></ol>
<script type="application/json" id="index">` + string(data) + "</script>\n<script>" + finder + "</script>\n", nil
}
