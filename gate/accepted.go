package gate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Accepted is what a host acts on: that a judgement came to its end, and accepted these
// bytes under this policy. Only a [Gate] makes one that says so; the zero value, and every
// value that something else made, answers no to every question.
type Accepted struct{ of *acceptance }

// An acceptance is never changed.
type acceptance struct {
	sum           [sha256.Size]byte // of a file, or the DirHash of a folder
	folder        bool
	size          int64
	policy, rules string
	version       string
}

// OK reports whether it is an acceptance.
func (a Accepted) OK() bool { return a.of != nil }

// Of reports whether it accepts the bytes with this SHA-256 and this size.
func (a Accepted) Of(sum [sha256.Size]byte, size int64) bool {
	return a.of != nil && !a.of.folder && a.of.sum == sum && a.of.size == size
}

// OfFolder reports whether it accepts the folder of these files, whose digests are known. It
// is about all of them together: none of them is accepted by itself.
func (a Accepted) OfFolder(files []File) bool {
	size := int64(0)
	for _, f := range files {
		size = wire.AddCap(size, f.Size)
	}
	return a.of != nil && a.of.folder && hex.EncodeToString(a.of.sum[:]) == DirHash(files) && a.of.size == size
}

// SHA256 returns the digest of the accepted bytes in hex, or "". A folder has none.
func (a Accepted) SHA256() string {
	if a.of == nil || a.of.folder {
		return ""
	}
	return hex.EncodeToString(a.of.sum[:])
}

// DirHash returns the digest of the accepted folder, as [DirHash] does, or "". A file has
// none.
func (a Accepted) DirHash() string {
	if a.of == nil || !a.of.folder {
		return ""
	}
	return hex.EncodeToString(a.of.sum[:])
}

// Size returns the number of the accepted bytes, in all files of a folder, or -1.
func (a Accepted) Size() int64 {
	if a.of == nil {
		return -1
	}
	return a.of.size
}

// Policy returns the digest of the policy, as [Policy.Digest] does, or "".
func (a Accepted) Policy() string {
	if a.of == nil {
		return ""
	}
	return a.of.policy
}

// Rules returns the digest of the rules, as [RulesDigest] does, or "".
func (a Accepted) Rules() string {
	if a.of == nil {
		return ""
	}
	return a.of.rules
}

// Version returns the version of the program that judged, as [Gate.Version] states it.
func (a Accepted) Version() string {
	if a.of == nil {
		return ""
	}
	return a.of.version
}

// jsonAccepted is an acceptance in the JSON of a verdict.
type jsonAccepted struct {
	SHA256  string `json:"sha256,omitempty"`
	DirHash string `json:"dir_hash,omitempty"`
	Size    int64  `json:"size"`
	Policy  string `json:"policy"`
	Rules   string `json:"rules"`
	Version string `json:"version,omitempty"`
}

// MarshalJSON writes an object with what was accepted, or null.
func (a Accepted) MarshalJSON() ([]byte, error) {
	if a.of == nil {
		return []byte("null"), nil
	}
	return json.Marshal(jsonAccepted{a.SHA256(), a.DirHash(), a.Size(), a.Policy(), a.Rules(), a.Version()})
}

// An outcome says how a judgement ended. The zero value is that it did not.
type outcome uint8

const (
	notEnded outcome = iota
	ended            // with a refusal
	passed
	leftOut // by [Gate.Exclude]: neither judged nor refused
)

var errNotJudged = wire.ErrInternal.Errorf("the judgement was not completed")

// Acceptance returns the acceptance of the file. ok is false for a file that is not
// accepted, and for one whose bytes were not digested: a gate that hands acceptances on
// needs [Gate.Digest].
func (v *Verdict) Acceptance() (a Accepted, ok bool) {
	if !v.Accepted() || !v.accepted.OK() {
		return Accepted{}, false
	}
	return v.accepted, true
}

// conclude makes the verdict of a draft. Nothing else makes a [Verdict] or an [Accepted].
// judged says that the judgement came to its end; the end of nothing else may accept.
func (v *draft) conclude(judged bool) *Verdict {
	out := Verdict(*v)
	out.end, out.accepted = ended, Accepted{}
	switch {
	case v.Err != nil:
	case v.Excluded:
		out.end = leftOut
	case !judged:
		out.Err = errNotJudged
	default:
		out.end = passed
		out.accepted, out.Err = v.acceptance()
		if out.Err != nil {
			out.end = ended
		}
	}
	return &out
}

// acceptance returns what is accepted, or the zero value if the file was not digested.
func (v *draft) acceptance() (Accepted, error) {
	sum := cmp.Or(v.SHA256, v.dirHash)
	if sum == "" {
		return Accepted{}, nil
	}
	a := acceptance{folder: v.dirHash != "", size: v.Size, rules: RulesDigest(v.gate.Version), version: v.gate.Version}
	n, err := hex.Decode(a.sum[:], []byte(sum))
	if err != nil || n != len(a.sum) || v.Size < 0 {
		return Accepted{}, wire.ErrInternal.Errorf("the digest of the file is %s, its size %d", wire.Quote(sum), v.Size)
	}
	if a.policy, err = v.gate.policyDigest(); err != nil {
		return Accepted{}, wire.ErrInternal.Errorf("the policy has no digest: %s", wire.Text(err.Error(), 256))
	}
	return Accepted{&a}, nil
}

// JudgedBy returns the digests of the policy and of the rules by which a verdict was
// reached, and the version of the program. A verdict that no gate made has none.
func (v *Verdict) JudgedBy() (policy, rules, version string, err error) {
	if v == nil || v.gate == nil {
		return "", "", "", errNotJudged
	}
	policy, err = v.gate.policyDigest()
	return policy, RulesDigest(v.gate.Version), v.gate.Version, err
}

// An asked is how the sender of a file asked about it, besides its name: see [Hint].
type asked struct {
	promised string
	beside   bool
	field    bool
}

// Asked returns the question that a verdict answers, as [Hint] stated it: the name of the file, the
// format that its sender stated, "" for none, and whether it is treated like a file of a folder.
// The same bytes may be accepted by one name, or beside others, and refused by another.
func (v *Verdict) Asked() (name, promised string, beside bool) {
	if v == nil {
		return "", "", false
	}
	return v.Name, v.asked.promised, v.asked.beside
}

// OfField reports whether the verdict is about the value of a field of a form, and not about a file.
func (v *Verdict) OfField() bool { return v != nil && v.asked.field }

// policyDigest returns the digest of the gate's policy.
func (g *Gate) policyDigest() (string, error) {
	if g.digest != "" {
		return g.digest, nil
	}
	return g.Policy.Digest()
}

// WithDigest returns a gate that judges as g does, and digests each file. It computes the
// digest of its policy once, so its policy must not be changed.
func (g *Gate) WithDigest() (*Gate, error) {
	if g == nil {
		return nil, errNoGate
	}
	out := *g
	out.Digest, out.digest = true, ""
	var err error
	out.digest, err = g.Policy.Digest()
	return &out, err
}

// RulesDigest is a SHA-256 over the table of rules and the version of the program, in hex.
// Where it is the same, so is what a file is judged by.
func RulesDigest(version string) string {
	h := sha256.New()
	table := rulesTable()
	h.Write(table[:])
	fmt.Fprintf(h, "%q", version)
	return hex.EncodeToString(h.Sum(nil))
}

// rulesTable is the digest of the table of rules.
var rulesTable = sync.OnceValue(func() [sha256.Size]byte {
	h := sha256.New()
	for _, r := range allRules() {
		fmt.Fprintf(h, "%q %q %d %q %q\n", r.ID, r.Kind, r.Severity, r.Title, r.Advice)
	}
	return [sha256.Size]byte(h.Sum(nil))
})
