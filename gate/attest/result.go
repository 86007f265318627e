package attest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A Result is what a gate states about files that it has accepted.
type Result struct {
	Name       string // of the model, for people
	Files      []File
	Links      []Link
	Policy     string // its digest, in hex
	Version    string // of the program
	Time       time.Time
	Properties []string
}

// The most files that a result lists by name, and the most bytes of their names. The list only
// serves to say what has changed: the digests cover any number.
const (
	maxListed     = 1 << 16
	maxListedText = 8 << 20
)

type predicate struct {
	Verifier   verifier                     `json:"verifier"`
	Time       string                       `json:"timeCreated"`
	Properties []string                     `json:"properties"`
	Named      map[string]string            `json:"namedFilesDigest"` // the digest with names
	Beside     map[string]map[string]string `json:"besideFilesDigests"`
	Listed     []listed                     `json:"files,omitempty"`
}

type verifier struct {
	ID       string            `json:"id"`
	Version  map[string]string `json:"version,omitempty"`
	Policies []subject         `json:"policies"`
}

// A listed file has a digest, or it is a link to a folder.
type listed struct {
	Name string `json:"name"`
	Sum  string `json:"sha256,omitempty"`
	To   string `json:"folder,omitempty"`
}

// A tree is what a result covers: the model, and by the names at the top of the folder what
// Model Signing leaves out.
type tree struct {
	files  []File
	links  []Link
	beside map[string]*tree
}

// treeOf divides files and links.
func treeOf(files []File, links []Link) *tree {
	t := &tree{beside: map[string]*tree{}}
	part := func(name string) *tree {
		top := Beside(name)
		if top == "" {
			return t
		}
		if t.beside[top] == nil {
			t.beside[top] = &tree{}
		}
		return t.beside[top]
	}
	for _, f := range files {
		p := part(f.Name)
		p.files = append(p.files, f)
	}
	for _, l := range links {
		p := part(l.Name)
		p.links = append(p.links, l)
	}
	return t
}

// digests returns the digest of each part beside the model, with names.
func (t *tree) digests() map[string]digest.Sum {
	out := map[string]digest.Sum{}
	for top, part := range t.beside {
		out[top] = namedRoot(part.files, part.links)
	}
	return out
}

// Statement returns the result as an in-toto statement.
func (r Result) Statement() ([]byte, error) {
	for _, f := range r.Files {
		if !utf8.ValidString(f.Name) {
			return nil, wire.ErrUnsupported.Errorf("the name %s is not UTF-8", wire.Quote(f.Name))
		}
	}
	for _, l := range r.Links {
		if !utf8.ValidString(l.Name + l.To) {
			return nil, wire.ErrUnsupported.Errorf("the link %s is not UTF-8", wire.Quote(l.Name))
		}
	}
	t := treeOf(r.Files, r.Links)
	if len(t.files) == 0 {
		return nil, wire.ErrUnsupported.Errorf("the statement has no files")
	}
	p := predicate{
		Verifier: verifier{ID: verifierID, Policies: []subject{{"policy", map[string]string{"sha256": r.Policy}}}},
		Time:     r.Time.UTC().Format(time.RFC3339), Properties: append([]string{}, r.Properties...),
		Named: map[string]string{"sha256": namedRoot(t.files, t.links).String()}, Beside: map[string]map[string]string{},
	}
	for top, sum := range t.digests() {
		p.Beside[top] = map[string]string{"sha256": sum.String()}
	}
	p.Listed = list(r.Files, r.Links)
	if r.Version != "" {
		p.Verifier.Version = map[string]string{"amn": r.Version}
	}
	inner, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(statement{statementType, []subject{{r.Name, map[string]string{"sha256": Root(t.files).String()}}}, resultType, inner})
}

// list returns the names of files and links, or nil for too many.
func list(files []File, links []Link) (names []listed) {
	size := 0
	for _, f := range sorted(files) {
		names, size = append(names, listed{Name: f.Name, Sum: f.Sum.String()}), size+len(f.Name)
	}
	for _, l := range links {
		names, size = append(names, listed{Name: l.Name, To: l.To}), size+len(l.Name)+len(l.To)
	}
	if len(names) > maxListed || size > maxListedText {
		return nil
	}
	return names
}

func (c *Claim) result(text []byte) error {
	var p predicate
	if err := json.Unmarshal(text, &p); err != nil {
		return wire.ErrSyntax.Errorf("no verification result: %s", wire.Text(err.Error(), 256))
	}
	if p.Verifier.ID != verifierID {
		return wire.ErrUnsupported.Errorf("the result of another verifier, %s", wire.Quote(p.Verifier.ID))
	}
	if !slices.Contains(p.Properties, Accepted) {
		return wire.ErrUnsupported.Errorf("a result without %s", Accepted)
	}
	if _, err := time.Parse(time.RFC3339, p.Time); err != nil {
		return wire.ErrSyntax.Errorf("%s is not a time", wire.Quote(p.Time))
	}
	var err error
	if c.named, err = parseSum(p.Named["sha256"]); err != nil {
		return err
	}
	if p.Beside == nil {
		return wire.ErrSyntax.Errorf("a result without besideFilesDigests: it does not say what is in .git")
	}
	c.beside = map[string]digest.Sum{}
	for top, sums := range p.Beside {
		if Beside(top) != top {
			return wire.ErrSyntax.Errorf("a result with %s beside the model", wire.Quote(top))
		}
		if c.beside[top], err = parseSum(sums["sha256"]); err != nil {
			return err
		}
	}
	if c.Time, c.Properties = p.Time, p.Properties; len(p.Verifier.Policies) > 0 {
		c.Policy = p.Verifier.Policies[0].Digest["sha256"]
	}
	return c.setList(p.Listed)
}

// setList reads the names, which must be those of the digests.
func (c *Claim) setList(names []listed) error {
	if len(names) == 0 {
		return nil
	}
	var files []File
	var links []Link
	c.listed = map[string]string{}
	for _, l := range names {
		if _, twice := c.listed[l.Name]; twice || (l.Sum == "") == (l.To == "") {
			return wire.ErrSyntax.Errorf("the file %s has no one SHA-256", wire.Quote(l.Name))
		}
		if c.listed[l.Name] = l.Sum; l.To != "" {
			links, c.listed[l.Name] = append(links, Link{l.Name, l.To}), linkTo(l.To)
			continue
		}
		sum, err := parseSum(l.Sum)
		if err != nil {
			return err
		}
		files = append(files, File{l.Name, sum})
	}
	if t := treeOf(files, links); Root(t.files) != c.Root || namedRoot(t.files, t.links) != c.named || !maps.Equal(t.digests(), c.beside) {
		return wire.ErrMismatch.Errorf("the files that are listed have another digest than the subject")
	}
	return nil
}

func linkTo(to string) string { return "-> " + to }

// Beside returns the file or folder of git or GitHub at the top of a model that a name belongs
// to, or "". The subject of a statement is without it, as Model Signing has it; a [Result] covers
// it besides.
func Beside(name string) string {
	if first, _, _ := strings.Cut(name, "/"); slices.Contains(gitNames, first) {
		return first
	}
	return ""
}

// Absent returns what a [Result] covers by [Beside] and is not among files: it was removed, as in a
// copy of a clone without .git. Check accepts that, and whoever relies on it makes sure that no
// loader looks for it.
func (c *Claim) Absent(files []File) []string {
	if c == nil {
		return nil
	}
	here := map[string]bool{}
	for _, f := range files {
		here[Beside(f.Name)] = true
	}
	var list []string
	for _, top := range slices.Sorted(maps.Keys(c.beside)) {
		if !here[top] {
			list = append(list, top)
		}
	}
	return list
}

// checkResult compares files and links with those of a [Result].
func (c *Claim) checkResult(files []File, links []Link) error {
	t := treeOf(files, links)
	sums := t.digests()
	differ := Root(t.files) != c.Root || namedRoot(t.files, t.links) != c.named
	for top, sum := range sums {
		want, known := c.beside[top]
		differ = differ || !known || sum != want
	}
	if !differ {
		return nil
	}
	what := c.difference(t, files, links)
	got := Root(t.files)
	switch named := namedRoot(t.files, t.links); {
	case got == c.Root && named == c.named:
		return fmt.Errorf("%w: %w%s", ErrDiffers, ErrGitDiffers, what)
	case what != "":
		return fmt.Errorf("%w%s", ErrDiffers, what)
	case got != c.Root:
		return fmt.Errorf("%w: their digest is %s, not %s", ErrDiffers, got, c.Root)
	}
	return fmt.Errorf("%w: their contents are, but files are called otherwise, or folders are linked", ErrDiffers)
}

// maxDifferences bounds how many differences an error names.
const maxDifferences = 8

// difference names what differs from the list of the statement, the model's files first, after a
// colon. Without a list it is "".
func (c *Claim) difference(t *tree, files []File, links []Link) string {
	if c.listed == nil {
		return ""
	}
	now := map[string]string{}
	for _, f := range files {
		now[f.Name] = f.Sum.String()
	}
	for _, l := range links {
		now[l.Name] = linkTo(l.To)
	}
	type change struct{ name, how string }
	var found []change
	for name, was := range c.listed {
		is, here := now[name]
		switch {
		case here && is != was:
			found = append(found, change{name, "has another content"})
		case !here && (Beside(name) == "" || t.beside[Beside(name)] != nil):
			found = append(found, change{name, "is missing"})
		}
	}
	for name := range now {
		if _, known := c.listed[name]; !known {
			found = append(found, change{name, "was added"})
		}
	}
	slices.SortFunc(found, func(a, b change) int {
		order := func(c change) string { return Beside(c.name) + "\x00" + c.name }
		return strings.Compare(order(a), order(b))
	})
	var says []string
	for _, f := range found[:min(len(found), maxDifferences)] {
		says = append(says, wire.Quote(f.name)+" "+f.how)
	}
	if more := len(found) - len(says); more > 0 {
		says = append(says, fmt.Sprintf("and %d more", more))
	}
	if len(says) == 0 {
		return ""
	}
	return ": " + strings.Join(says, ", ")
}
