package gate

import (
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/internal/wrap"
	"github.com/anamnesis-go/anamnesis/limits"
)

// innerLook is how much of the content of a compressed file is looked at, at most,
// while the file comes.
const innerLook = 64 << 10

// earlyPacked is for the beginning of what packs other files: a content that is
// refused refuses the whole.
func (j *judgement) earlyPacked(b *limits.Budget, k *wrap.Kind, r *beginning, sized bool) (more bool, err error) {
	switch err := j.policy.allowsFormat(j.packed(k)); {
	case err != nil:
		return false, err
	case k.Stream:
		return j.earlyStream(b, k, r)
	case k.Name != "tar":
		return false, nil // each content is judged once all of it is there
	}
	again := j.partly(b, k, r)
	err = k.Walk(b, r, j.Size, func(i wrap.Item) error { return again.content(k, i) })
	switch {
	case len(again.refusals) > 0:
		return false, j.adopt(again)
	case r.missed || err == nil || wire.ClassOf(err) == wire.Internal:
		return true, nil
	}
	return false, sure(err, sized)
}

// partly judges contents of a wrapper that are there.
func (j *judgement) partly(b *limits.Budget, k *wrap.Kind, r *beginning) *judgement {
	again := &judgement{Verdict: j.gate.verdict(j.Name), r: r, hint: j.hint, begun: r}
	again.Size, again.account, again.Format, again.Contents = j.Size, b, k.Name, []Content{}
	return again
}

// adopt takes over what contents are refused for.
func (j *judgement) adopt(again *judgement) error {
	j.Format, j.Contents, j.Findings, j.refusals, j.unlisted = again.Format, again.Contents, again.Findings, again.refusals, again.unlisted
	return again.Err
}

// earlyStream looks at what the content of a compressed file begins as.
func (j *judgement) earlyStream(b *limits.Budget, k *wrap.Kind, r *beginning) (more bool, err error) {
	n := max(firstLook, min(len(r.head), innerLook))
	head := k.Beginning(b, r.head, n)
	if len(head) == 0 {
		return true, nil // a block of zstd or bzip2 comes whole
	}
	again := j.partly(b, k, r)
	name, next := again.names(k, wrap.Item{})
	c := &judgement{Verdict: j.gate.verdict(name), hint: Hint{Name: name, Beside: true}, layer: 1, outer: next}
	c.Size = unknownSize
	more, c.Err = c.early(b, head, false)
	if c.Err == nil || wire.ClassOf(c.Err) == wire.Internal {
		return more && n < innerLook, nil
	}
	if c.hold(); c.Err == nil {
		return false, nil // an exception
	}
	if err := again.take(c.Verdict); err != nil {
		return false, err
	}
	return false, j.adopt(again)
}

// names are what a content is called, and what stands before the names of its own.
func (j *judgement) names(k *wrap.Kind, i wrap.Item) (name, next string) {
	outer := j.path()
	if k.Stream {
		return outer + "!" + k.Inner(path.Base(strings.ReplaceAll(j.hint.Name, "!", "/"))), outer
	}
	return outer + "!" + i.Name, outer + "!" + i.Name
}
