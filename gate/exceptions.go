package gate

import (
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An Exception suppresses refusals by a rule.
type Exception struct {
	Rule string // an identifier, or a pattern such as "gguf.*"
	// Path is a pattern of names, SHA256 the digest of a file; at least one is given. A
	// digest needs [Gate.Digest]. Without a digest, only findings and files that were not
	// looked at can be excepted: any other refusal ends the judgement, so the rest of the
	// content is unknown.
	Path, SHA256 string
	Reason       string
	// Expires is the last day on which it applies, such as "2026-12-31"; empty for no end.
	Expires string
}

// exception returns the exception that applies to a refusal today, or nil. One that would
// apply but has expired is noted in the verdict.
func (g *Gate) exception(v *draft, r *Refusal) *Exception {
	if r.Class == wire.Internal || r.Class == wire.Limit {
		return nil // nothing is known of the rest
	}
	for e := range g.excused.about(v) {
		switch {
		case !match(e.Rule, r.Rule) && !match(e.Rule, r.Group), e.Path == "" && e.SHA256 == "":
		case e.SHA256 == "" && !byName(r):
		case e.Path != "" && !matchPath(e.Path, v.Name), e.SHA256 != "" && e.SHA256 != v.SHA256:
		case e.Expires != "" && (g.Today == "" || g.Today > e.Expires):
			if !slices.Contains(v.Expired, *e) {
				v.Expired = append(v.Expired, *e)
			}
		default:
			return e
		}
	}
	return nil
}

// knownByDigest reports whether an exception for a digest may apply to a file of this
// name. If so, nothing can be decided before the whole file is there.
func (g *Gate) knownByDigest(name string) bool {
	return slices.ContainsFunc(g.Policy.Ignore, func(e Exception) bool {
		return e.SHA256 != "" && (e.Path == "" || matchPath(e.Path, name))
	})
}

// byName reports whether an exception may suppress the refusal by the name of the file.
// If the reader itself refused for a finding, the rest was not judged, and it may not.
func byName(r *Refusal) bool {
	return r.Rule == unlookedRule || r.Group == "" && limits.IsFinding(r.Rule)
}

// exceptions indexes the exceptions of a policy, because a baseline may have thousands and a folder
// as many refusals.
type exceptions struct {
	list []Exception

	once sync.Once
	// Positions in list, each exception in one of these.
	bySum  map[string][]int // by digest
	byPath map[string][]int // by a whole path, of those without a digest
	byBase map[string][]int // by the last part of a path
	others []int            // those with a pattern
}

// indexed returns the gate with an index of its exceptions: itself if it has one.
func (g *Gate) indexed() *Gate {
	if g.excused != nil && len(g.excused.list) == len(g.Policy.Ignore) && (len(g.Policy.Ignore) == 0 || &g.excused.list[0] == &g.Policy.Ignore[0]) {
		return g
	}
	one := *g
	one.excused = &exceptions{list: g.Policy.Ignore}
	return &one
}

// build sorts the exceptions into the index.
func (x *exceptions) build() {
	x.bySum, x.byPath, x.byBase = map[string][]int{}, map[string][]int{}, map[string][]int{}
	for i := range x.list {
		switch e := &x.list[i]; {
		case e.SHA256 != "":
			x.bySum[e.SHA256] = append(x.bySum[e.SHA256], i)
		case literalLen(e.Path) < len(e.Path):
			x.others = append(x.others, i)
		case strings.Contains(e.Path, "/"):
			x.byPath[e.Path] = append(x.byPath[e.Path], i)
		default:
			x.byBase[e.Path] = append(x.byBase[e.Path], i)
		}
	}
}

// about yields the exceptions whose digest or name may be those of the file, in the order
// of the policy.
func (x *exceptions) about(v *draft) iter.Seq[*Exception] {
	return func(yield func(*Exception) bool) {
		if x == nil || len(x.list) == 0 {
			return
		}
		x.once.Do(x.build)
		found := x.others
		if more := slices.Concat(x.bySum[v.SHA256], x.byPath[v.Name], x.byBase[path.Base(v.Name)]); len(more) > 0 {
			found = append(more, found...)
			slices.Sort(found)
		}
		for _, i := range found {
			if !yield(&x.list[i]) {
				return
			}
		}
	}
}
