// Package rules says what each rule of this program is, and what of a file it reads.
//
// Rules are code. A rule has a digest of its own: over its row in the table of rules, and over the
// sources of the packages that decide it. Two programs in which it is the same decide alike by it.
// What a rule reads is a mask of facts: those that a verdict keeps of the files of a revision. If
// the digest of a rule has changed, the revisions are judged again that have a fact of its mask;
// a rule that has no mask reads everything.
//
// # Facts
//
//	format:F   a file was read as the format F
//	beside     a file that is no model was found harmless
//	rule:G     a rule of the group G fired
//	open       a file of which it is not known what it is, or that has other files in it: every
//	           mask has this fact
//
// # Sources
//
// The digests of the sources come from the build, as `go run ./internal/sources` prints them. A
// program that was built without has none: then the version stands for all, and every change
// touches everything.
package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/store"
)

// Open is the fact of what could be anything.
const Open = "open"

// Beside is the fact of a harmless file that is no model.
const Beside = "beside"

// A group is decided by packages of its own, that run for no file without a fact of the mask.
type group struct {
	name     string
	rules    []string // groups of rules, by the beginning of their names
	packages []string // below the module
	facts    []string // besides Open and the rules
}

// groups is the table. What is in no row is the core: what identifies files runs for all of them
// (most parsers have some of it), and so do the machine of pickles, archives and the policy. TestMasksHold runs every recipe with the packages
// of each row counted.
var groups = []group{
	{"gguf", []string{"gguf"}, []string{"parser/gguf"}, []string{"format:gguf", "format:ggml"}}, // parser/ggml has its blocks
	{"npy", []string{"npy", "npz"}, []string{"parser/npy", "parser/npz"}, []string{"format:npy", "format:npz", "format:pickle", "format:joblib", "format:pth"}},
	{"template", []string{"template"}, []string{"internal/jinja"}, []string{"format:gguf", Beside}},
}

// wrapped are the formats in which other files are.
var wrapped = []string{"zip", "tar", "gzip", "bzip2", "xz", "zstd", "7z", "ollama", "mar", "skops", "keras", "nemo"}

// Facts returns what is kept of the files of a verdict: of its JSON's contents, and the rules that fired.
func Facts(detail []byte) ([]string, error) {
	var in struct {
		Format             string
		Contents           []struct{ Format, Class string }
		Refusals, Findings []struct{ Rule string }
	}
	if err := json.Unmarshal(detail, &in); err != nil {
		return nil, err
	}
	out := map[string]bool{}
	if len(in.Contents) == 0 {
		out[Open] = true
	}
	for _, c := range in.Contents {
		switch {
		case c.Format == "" && c.Class == "ok":
			out[Beside] = true
		case c.Format == "" || slices.Contains(wrapped, c.Format):
			out[Open] = true
		default:
			out["format:"+c.Format] = true
		}
	}
	for _, r := range append(in.Refusals, in.Findings...) {
		of, _, _ := strings.Cut(r.Rule, ".")
		out["rule:"+of] = true
	}
	return slices.Sorted(maps.Keys(out)), nil
}

// mask is what the rules of a group read.
func (g *group) mask() []string {
	out := append(slices.Clone(g.facts), Open)
	for _, r := range g.rules {
		out = append(out, "rule:"+r)
	}
	return out
}

// groupOf returns the row of a rule, or nil.
func groupOf(rule string) *group {
	of, _, _ := strings.Cut(rule, ".")
	for i := range groups {
		if slices.Contains(groups[i].rules, of) {
			return &groups[i]
		}
	}
	return nil
}

// Mask returns the facts that a rule reads; [store.Everything] if that is not known.
func Mask(rule string) []string {
	if g := groupOf(rule); g != nil {
		return g.mask()
	}
	return []string{store.Everything}
}

// coreRule is the part of everything that is in no row.
const coreRule = "core"

// Parts returns the digest of each rule of this program, and of the core. sources are digests of
// packages, as the build states them: "parser/gguf=DIGEST parser/npy=DIGEST ..."; "" if it does not.
func Parts(version, sources string) (map[string]string, error) {
	if sources == "" {
		return map[string]string{coreRule: hash("version", version)}, nil
	}
	of := map[string]string{}
	for one := range strings.FieldsSeq(sources) {
		name, digest, ok := strings.Cut(one, "=")
		if b, err := hex.DecodeString(digest); !ok || err != nil || len(b) < 16 || of[name] != "" || path.Clean(name) != name {
			return nil, fmt.Errorf("the build states %q of the sources of a package", one)
		}
		of[name] = digest
	}
	rest := maps.Clone(of)
	bys := map[string]string{}
	for i := range groups {
		g := &groups[i]
		var list []string
		for _, p := range g.packages {
			if of[p] == "" {
				return nil, fmt.Errorf("the build states nothing of the sources of %s", p)
			}
			list = append(list, p, of[p])
			delete(rest, p)
		}
		bys[g.name] = hash(list...)
	}
	out := map[string]string{}
	var core []string
	for _, p := range slices.Sorted(maps.Keys(rest)) {
		core = append(core, p, rest[p])
	}
	out[coreRule] = hash(core...)
	for _, r := range gate.Rules() {
		by := out[coreRule]
		if g := groupOf(r.ID); g != nil {
			by = bys[g.name]
		}
		out[r.ID] = hash(r.ID, r.Kind, r.Severity.String(), by)
	}
	return out, nil
}

func hash(list ...string) string {
	h := sha256.New()
	for _, s := range list {
		fmt.Fprintf(h, "%q ", s)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Changed lists the rules that differ, those of one program alone too.
func Changed(older, newer map[string]string) (out []string) {
	for id, digest := range newer {
		if older[id] != digest {
			out = append(out, id)
		}
	}
	for id := range older {
		if _, ok := newer[id]; !ok {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// Touches returns the facts that the rules read that differ.
func Touches(older, newer map[string]string) []string {
	facts := map[string]bool{}
	for _, id := range Changed(older, newer) {
		for _, f := range Mask(id) {
			facts[f] = true
		}
	}
	if facts[store.Everything] {
		return []string{store.Everything}
	}
	return slices.Sorted(maps.Keys(facts))
}

// Packages are those of the rows, as the tool that digests sources names them.
func Packages() (out []string) {
	for _, g := range groups {
		out = append(out, g.packages...)
	}
	return out
}

// MaskOf returns the facts that the rules of a package's row read, or nil.
func MaskOf(pkg string) []string {
	for i := range groups {
		if slices.Contains(groups[i].packages, pkg) {
			return groups[i].mask()
		}
	}
	return nil
}
