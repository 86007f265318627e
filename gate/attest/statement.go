package attest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// The types of what is written and read.
const (
	statementType = "https://in-toto.io/Statement/v1"
	resultType    = "https://in-toto.io/attestation/svr/v0.2"
	signatureType = "https://model_signing/signature/v1.0"
	verifierID    = "https://github.com/anamnesis-go/anamnesis/gate/v1"
)

// The properties that a [Result] may state.
const (
	Accepted = "AMN_ACCEPTED"        // the policy accepts the files
	Read     = "AMN_BODIES_READ"     // the bodies of every model were read to the end
	Verified = "AMN_BODIES_VERIFIED" // and compared with the checksums of the format
	LookedAt = "AMN_ALL_LOOKED_AT"   // every file that could hold a model was looked at
	AsIs     = "AMN_NO_EXCEPTIONS"   // no refusal was suppressed
)

// A File is one file of a model. Name is its path below the folder, with slashes, or "."
// for a model of one file.
type File struct {
	Name string
	Sum  digest.Sum
}

// A Link is a link to another folder of the model, by its path and that of the folder below
// the model's, with slashes. Its files are reached by two names.
type Link struct{ Name, To string }

// SignatureName is the name of a signature of Model Signing in the folder of its model.
const SignatureName = "model.sig"

// gitNames are what Model Signing ignores at the top of a folder.
var gitNames = []string{".git", ".gitattributes", ".github", ".gitignore"}

// Ignored returns the file or folder at the top of a model because of which a statement does
// not cover a name, or "": a file of git or GitHub, which Model Signing ignores too, or its
// signature. Whoever relies on a statement makes sure that no loader reaches them.
func Ignored(name string) string {
	first, _, _ := strings.Cut(name, "/")
	if slices.Contains(gitNames, first) || name == SignatureName {
		return first
	}
	return ""
}

// Root returns the digest of all files as Model Signing 1.0 defines it.
func Root(files []File) digest.Sum {
	h := sha256.New()
	for _, f := range sorted(files) {
		h.Write(f.Sum[:])
	}
	return digest.Sum(h.Sum(nil))
}

// namedRoot returns the digest of all files and links and their names. [Root] does not cover
// names: renaming a file without changing the order does not change it.
func namedRoot(files []File, links []Link) digest.Sum {
	files = slices.Clone(files)
	for _, l := range links {
		files = append(files, File{l.Name, sha256.Sum256([]byte("a link to the folder\x00" + l.To))})
	}
	h := sha256.New()
	for _, f := range sorted(files) {
		h.Write(append([]byte(f.Name), 0))
		h.Write(f.Sum[:])
	}
	return digest.Sum(h.Sum(nil))
}

// sorted returns the files ordered by the parts of their paths.
func sorted(files []File) []File {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return slices.Compare(strings.Split(a.Name, "/"), strings.Split(b.Name, "/")) })
	return files
}

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

type statement struct {
	Type          string          `json:"_type"`
	Subject       []subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	Verifier   verifier          `json:"verifier"`
	Time       string            `json:"timeCreated"`
	Properties []string          `json:"properties"`
	Named      map[string]string `json:"namedFilesDigest"` // the digest with names
}

type verifier struct {
	ID       string            `json:"id"`
	Version  map[string]string `json:"version,omitempty"`
	Policies []subject         `json:"policies"`
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
	if len(r.Files) == 0 {
		return nil, wire.ErrUnsupported.Errorf("no file to say anything of")
	}
	p := predicate{
		Verifier: verifier{ID: verifierID, Policies: []subject{{"policy", map[string]string{"sha256": r.Policy}}}},
		Time:     r.Time.UTC().Format(time.RFC3339), Properties: append([]string{}, r.Properties...),
		Named: map[string]string{"sha256": namedRoot(r.Files, r.Links).String()},
	}
	if r.Version != "" {
		p.Verifier.Version = map[string]string{"amn": r.Version}
	}
	inner, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(statement{statementType, []subject{{r.Name, map[string]string{"sha256": Root(r.Files).String()}}}, resultType, inner})
}

// A Claim is the content of a statement.
type Claim struct {
	Name string
	Root digest.Sum
	// Time, Policy and Properties are as in [Result].
	Time, Policy string
	Properties   []string
	// Files are the files that a signature of Model Signing lists; nil for a [Result],
	// which only has their digest. FollowsLinks says that the signature covers links to
	// files, Ignores which paths it leaves out.
	Files        []File
	FollowsLinks bool
	Ignores      []string

	named digest.Sum // of a [Result]: the digest with names
}

// Parse reads a statement of a [Result], or of a signature of Model Signing 1.0.
func Parse(text []byte) (*Claim, error) {
	var s statement
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, wire.ErrSyntax.Errorf("no statement: %s", wire.Text(err.Error(), 256))
	}
	if s.Type != statementType || len(s.Subject) != 1 {
		return nil, wire.ErrUnsupported.Errorf("a statement of type %s with %d subjects: this reads %s with one", wire.Quote(s.Type), len(s.Subject), statementType)
	}
	c := &Claim{Name: s.Subject[0].Name}
	var err error
	if c.Root, err = parseSum(s.Subject[0].Digest["sha256"]); err != nil {
		return nil, err
	}
	switch s.PredicateType {
	case resultType:
		return c, c.result(s.Predicate)
	case signatureType:
		return c, c.signature(s.Predicate)
	}
	return nil, wire.ErrUnsupported.Errorf("a statement about %s: this reads %s and %s", wire.Quote(s.PredicateType), resultType, signatureType)
}

func parseSum(text string) (digest.Sum, error) {
	sum, ok := digest.ParseSum(text)
	if !ok {
		return sum, wire.ErrSyntax.Errorf("%s is not an SHA-256", wire.Quote(text))
	}
	return sum, nil
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
		return wire.ErrUnsupported.Errorf("a result that does not say %s", Accepted)
	}
	if _, err := time.Parse(time.RFC3339, p.Time); err != nil {
		return wire.ErrSyntax.Errorf("%s is not a time", wire.Quote(p.Time))
	}
	var err error
	if c.named, err = parseSum(p.Named["sha256"]); err != nil {
		return err
	}
	if c.Time, c.Properties = p.Time, p.Properties; len(p.Verifier.Policies) > 0 {
		c.Policy = p.Verifier.Policies[0].Digest["sha256"]
	}
	return nil
}

// signature reads a statement of Model Signing: each file with its digest.
func (c *Claim) signature(text []byte) error {
	var p struct {
		Serialization struct {
			Method  string   `json:"method"`
			Hash    string   `json:"hash_type"`
			Links   bool     `json:"allow_symlinks"`
			Ignores []string `json:"ignore_paths"`
		} `json:"serialization"`
		Resources []struct {
			Name      string `json:"name"`
			Algorithm string `json:"algorithm"`
			Digest    string `json:"digest"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return wire.ErrSyntax.Errorf("no signature of a model: %s", wire.Text(err.Error(), 256))
	}
	if s := &p.Serialization; s.Method != "files" || s.Hash != "sha256" {
		return wire.ErrUnsupported.Errorf("a signature over %s by %s: this reads files by sha256", wire.Quote(s.Method), wire.Quote(s.Hash))
	}
	c.FollowsLinks, c.Ignores, c.Files = p.Serialization.Links, p.Serialization.Ignores, []File{}
	seen := map[string]bool{}
	for _, r := range p.Resources {
		sum, err := parseSum(r.Digest)
		if err != nil || r.Algorithm != "sha256" || seen[r.Name] {
			return wire.ErrSyntax.Errorf("the file %s has no one SHA-256", wire.Quote(r.Name))
		}
		seen[r.Name] = true
		c.Files = append(c.Files, File{r.Name, sum})
	}
	if c.Root != rootInOrder(c.Files) {
		return wire.ErrMismatch.Errorf("the files that are listed have another digest than the subject")
	}
	return nil
}

// rootInOrder returns the digest of files in the order in which the signature lists them.
func rootInOrder(files []File) digest.Sum {
	h := sha256.New()
	for _, f := range files {
		h.Write(f.Sum[:])
	}
	return digest.Sum(h.Sum(nil))
}

// ErrDiffers means that files are not those that were signed. Its class is Differs, as
// for models that are not equal.
var ErrDiffers error = differs{}

// ErrUncovered means that a statement does not cover all that a loader of the model reaches.
var ErrUncovered error = uncovered{}

type uncovered struct{}

func (uncovered) Error() string     { return "not all that a loader reaches is covered" }
func (uncovered) Class() wire.Class { return wire.Differs }

type differs struct{}

func (differs) Error() string     { return "the files are not those that were signed" }
func (differs) Class() wire.Class { return wire.Differs }

// LeavesOut returns the file or folder because of which the claim does not cover a name, or
// "". ok is false if that is more than [Ignored] leaves out.
func (c *Claim) LeavesOut(name string) (what string, ok bool) {
	if c.Files == nil {
		return Ignored(name), true
	}
	for at := name; at != "."; at = path.Dir(at) {
		if slices.Contains(c.Ignores, at) {
			return at, Ignored(name) != ""
		}
	}
	return "", true
}

// Check compares files and links to folders with the claim.
func (c *Claim) Check(files []File, links ...Link) error {
	if c.Files == nil {
		if got := Root(files); got != c.Root {
			return fmt.Errorf("%w: their digest is %s, not %s", ErrDiffers, got, c.Root)
		}
		if namedRoot(files, links) != c.named {
			return fmt.Errorf("%w: their contents are, but files are called otherwise, or folders are linked", ErrDiffers)
		}
		return nil
	}
	for _, l := range links {
		return fmt.Errorf("%w: %s is a link to a folder, which no signature of Model Signing covers", ErrDiffers, wire.Quote(l.Name))
	}
	want := map[string]digest.Sum{}
	for _, f := range c.Files {
		want[f.Name] = f.Sum
	}
	for _, f := range sorted(files) {
		sum, ok := want[f.Name]
		switch {
		case !ok:
			return fmt.Errorf("%w: %s was not signed", ErrDiffers, wire.Quote(f.Name))
		case sum != f.Sum:
			return fmt.Errorf("%w: %s has another content", ErrDiffers, wire.Quote(f.Name))
		}
		delete(want, f.Name)
	}
	for _, f := range sorted(c.Files) {
		if _, missing := want[f.Name]; missing {
			return fmt.Errorf("%w: %s is missing", ErrDiffers, wire.Quote(f.Name))
		}
	}
	return nil
}
