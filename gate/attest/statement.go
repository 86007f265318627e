package attest

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

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

// Ignored returns the file or folder at the top of a model because of which a signature of Model
// Signing does not cover a name, or "": a file of git or GitHub, or the signature. A program that
// relies on a signature must check that no loader reaches them. A [Result] leaves out only the
// signature.
func Ignored(name string) string {
	if name == SignatureName {
		return name
	}
	return Beside(name)
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

	// Of a [Result]: the digest with names, those of what is beside the model, and if there are
	// not too many, what it says of each name.
	named  digest.Sum
	beside map[string]digest.Sum
	listed map[string]string

	whole bool // Parse read it to its end; no other claim covers anything
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
		err = c.result(s.Predicate)
	case signatureType:
		err = c.signature(s.Predicate)
	default:
		err = wire.ErrUnsupported.Errorf("a statement about %s: this reads %s and %s", wire.Quote(s.PredicateType), resultType, signatureType)
	}
	if err != nil {
		return nil, err
	}
	c.whole = true
	return c, nil
}

func parseSum(text string) (digest.Sum, error) {
	sum, ok := digest.ParseSum(text)
	if !ok {
		return sum, wire.ErrSyntax.Errorf("%s is not an SHA-256", wire.Quote(text))
	}
	return sum, nil
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
