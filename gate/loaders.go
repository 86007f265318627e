package gate

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Loader is a library that obeys what a finding is about.
type Loader struct {
	Library    string   `json:"library"`
	Versions   string   `json:"versions"` // ">=4.56.0,<5.3.0", or "*" for all, also where the policy says nothing
	Advisories []string `json:"advisories,omitempty"`
}

func (l Loader) String() string {
	text := l.Library
	if l.Versions != allVersions {
		text += " " + l.Versions
	}
	if len(l.Advisories) > 0 {
		text += " (" + strings.Join(l.Advisories, ", ") + ")"
	}
	return text
}

// Words of versions: all, and none.
const (
	allVersions = "*"
	noVersion   = "none"
)

//go:embed loaders.txt
var loadersTable string

// A hit is a line of the table.
type hit struct {
	rule, of string
	loader   Loader
	versions versions // of a loader that has some
}

// hits reads the table once.
var hits = sync.OnceValue(func() (list []hit) {
	for line := range strings.Lines(loadersTable) {
		if line[0] == '#' {
			continue
		}
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		h := hit{rule: part[0], of: strings.TrimPrefix(part[1], "-"), loader: Loader{Library: part[2], Versions: part[3]}}
		if part[4] != "-" {
			h.loader.Advisories = strings.Fields(part[4])
		}
		if h.loader.Versions != allVersions {
			h.versions, _ = parseVersions(h.loader.Versions) // a test reads each line
		}
		list = append(list, h)
	}
	return list
})

// hitsOf returns the lines about a finding.
func hitsOf(f *tensor.Finding) (list []hit) {
	for _, h := range hits() {
		if h.rule == f.Code && (h.of == "" || h.of == f.Case) {
			list = append(list, h)
		}
	}
	return list
}

// LoadersOf lists the libraries that obey what a finding is about, with the advisories that say so. It
// is empty if none is known by name.
func LoadersOf(f tensor.Finding) (list []Loader) {
	for _, h := range hitsOf(&f) {
		list = append(list, h.loader)
	}
	return list
}

// Loaders lists the libraries that obey what the findings of a rule are about, whatever the case.
func (r Rule) Loaders() (list []Loader) {
	for _, h := range hits() {
		if h.rule == r.ID {
			list = append(list, h.loader)
		}
	}
	return list
}

// nameLoaders names, in the text of each finding, the libraries that it is about, and makes notes of
// those that none of the libraries which the policy says the host runs can obey.
func (v *draft) nameLoaders() {
	mine := v.ownFindings()
	for i := range mine {
		f := &mine[i]
		list := hitsOf(f)
		if len(list) == 0 {
			continue
		}
		var names []string
		for _, h := range list {
			names = append(names, h.loader.String())
		}
		f.Text += "; obeyed by " + strings.Join(names, ", ")
		if f.Severity > tensor.Note && v.policy.runsNone(list) {
			f.Text += fmt.Sprintf(" (the policy says that the host runs %s, which none of this can touch: it is %v elsewhere)", v.policy.runs(list), f.Severity)
			f.Severity = tensor.Note
		}
	}
}

// runsNone reports whether the policy says of each library which versions the host runs, and none
// of them is one that is hit.
func (p *Policy) runsNone(list []hit) bool {
	for _, h := range list {
		run, said := p.Loaders[h.loader.Library]
		if !said || h.loader.Versions == allVersions && run != noVersion {
			return false
		}
		if run == noVersion {
			continue
		}
		v, err := parseVersions(run)
		if err != nil || v.meets(h.versions) {
			return false
		}
	}
	return true
}

// runs says what the policy says of these libraries.
func (p *Policy) runs(list []hit) string {
	var out []string
	for _, h := range list {
		text := h.loader.Library + " " + p.Loaders[h.loader.Library]
		if p.Loaders[h.loader.Library] == noVersion {
			text = "no " + h.loader.Library
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

// Libraries are the libraries of which a policy may say what the host runs.
func Libraries() (list []string) {
	for _, h := range hits() {
		if !slices.Contains(list, h.loader.Library) {
			list = append(list, h.loader.Library)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return list
}

// loadersMember is the member of a policy about what a host runs. It is not written if it says nothing.
var loadersMember = policyMember{
	"loaders", func(p *Policy) any {
		if len(p.Loaders) == 0 {
			return nil
		}
		return p.Loaders
	},
	func(p *Policy, raw json.RawMessage) (err error) {
		p.Loaders, err = parseLoaders(raw)
		return err
	},
	func(to, from *Policy) { to.Loaders = from.Loaders },
}

func parseLoaders(raw json.RawMessage) (map[string]string, error) {
	list, err := object(raw)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, one := range list {
		if !slices.Contains(Libraries(), one.name) {
			return nil, fmt.Errorf("no finding is about the library %s (%s)", wire.Quote(one.name), strings.Join(Libraries(), ", "))
		}
		var text string
		if err := json.Unmarshal(one.raw, &text); err != nil || one.raw[0] != '"' {
			return nil, fmt.Errorf("%s: versions are a text such as \">=5.3\", or \"none\"", wire.Quote(one.name))
		}
		if text != noVersion {
			if _, err := parseVersions(text); err != nil {
				return nil, fmt.Errorf("%s: %w", wire.Quote(one.name), err)
			}
		}
		out[one.name] = text
	}
	return out, nil
}

// A version is the numbers of one, such as 5.3.0. Numbers that are not written are zero.
type version [maxNumbers]uint32

// maxNumbers is how many numbers a version has.
const maxNumbers = 5

// versions are all from one version to another.
type versions struct {
	from, to     version
	open, closed bool // from is not one of them; to is
	endless      bool // there is no to
}

var errVersions = errors.New(`versions are conditions such as ">=5.3,<6", of numbers with points between them`)

// parseVersions reads conditions that all hold.
func parseVersions(text string) (versions, error) {
	all := versions{endless: true}
	for part := range strings.SplitSeq(text, ",") {
		at := strings.IndexFunc(part, func(c rune) bool { return '0' <= c && c <= '9' })
		if at < 0 {
			return versions{}, errVersions
		}
		v, err := parseVersion(part[at:])
		if err != nil {
			return versions{}, err
		}
		one := versions{endless: true}
		switch part[:at] {
		case ">=":
			one.from = v
		case ">":
			one.from, one.open = v, true
		case "<":
			one.to, one.endless = v, false
		case "<=":
			one.to, one.endless, one.closed = v, false, true
		case "==":
			one = versions{from: v, to: v, closed: true}
		default:
			return versions{}, errVersions
		}
		all = all.and(one)
	}
	if all.isEmpty() {
		return versions{}, fmt.Errorf("no version is %s", wire.Quote(text))
	}
	return all, nil
}

// parseVersion reads numbers with points between them, none with a zero before it.
func parseVersion(text string) (v version, err error) {
	parts := strings.Split(text, ".")
	if len(parts) > maxNumbers {
		return v, errVersions
	}
	for i, part := range parts {
		if part == "" || len(part) > 8 || len(part) > 1 && part[0] == '0' || strings.Trim(part, "0123456789") != "" {
			return v, errVersions
		}
		for _, c := range part {
			v[i] = v[i]*10 + uint32(c-'0')
		}
	}
	return v, nil
}

// and are the versions that are in both.
func (a versions) and(b versions) versions {
	switch c := slices.Compare(a.from[:], b.from[:]); {
	case c < 0:
		a.from, a.open = b.from, b.open
	case c == 0:
		a.open = a.open || b.open
	}
	if b.endless {
		return a
	}
	switch c := slices.Compare(a.to[:], b.to[:]); {
	case a.endless, c > 0:
		a.to, a.closed, a.endless = b.to, b.closed, false
	case c == 0:
		a.closed = a.closed && b.closed
	}
	return a
}

// isEmpty reports whether no version is among them. A version between two that follow each other
// is thought to exist: 5.2.9.1 is less than 5.3.
func (a versions) isEmpty() bool {
	if a.endless {
		return false
	}
	c := slices.Compare(a.from[:], a.to[:])
	return c > 0 || c == 0 && (a.open || !a.closed)
}

// meets reports whether a version is in both.
func (a versions) meets(b versions) bool { return !a.and(b).isEmpty() }
