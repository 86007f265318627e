package gate

import (
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// innerLook bounds how many decompressed bytes are examined of a compressed file that is
// still arriving.
const innerLook = 64 << 10

// checkPackedPrefix is checkPrefix for archives and compressed files. They are refused as
// soon as one content is.
func (j *judgement) checkPackedPrefix(b *limits.Budget, k *unpack.Kind, r *prefixReader, sized bool) (more bool, err error) {
	switch err := j.policy.allowsFormat(j.packed(k)); {
	case err != nil:
		return false, err
	case k.Stream:
		return j.checkStreamPrefix(b, k, r)
	case k.Name != "tar":
		return false, nil // a content is judged once all of it has arrived
	}
	again := j.partial(b, k, r)
	err = k.Walk(b, r, j.Size, func(i unpack.Item) error { return again.judgeContent(k, i) })
	switch {
	case len(again.refusals) > 0:
		return false, j.adopt(again)
	case r.missed || err == nil || wire.ClassOf(err) == wire.Internal:
		return true, nil
	}
	return false, permanent(err, sized)
}

// partial returns a judgement of those contents of a wrapper that have arrived.
func (j *judgement) partial(b *limits.Budget, k *unpack.Kind, r *prefixReader) *judgement {
	again := &judgement{draft: j.gate.draft(j.Name), r: r, hint: j.hint, begun: r}
	again.Size, again.account, again.Format, again.Contents = j.Size, b, k.Name, []Content{}
	return again
}

// adopt takes over the refusals of again, and returns its error.
func (j *judgement) adopt(again *judgement) error {
	j.Format, j.Contents, j.Findings, j.refusals, j.unlistedRefusals = again.Format, again.Contents, again.Findings, again.refusals, again.unlistedRefusals
	return again.Err
}

// checkStreamPrefix checks the beginning of the content of a compressed file.
func (j *judgement) checkStreamPrefix(b *limits.Budget, k *unpack.Kind, r *prefixReader) (more bool, err error) {
	n := max(firstLook, min(len(r.head), innerLook))
	head := k.Beginning(b, r.head, n)
	if len(head) == 0 {
		return true, nil // zstd and bzip2 decompress whole blocks
	}
	again := j.partial(b, k, r)
	name, next := again.contentNames(k, unpack.Item{})
	c := &judgement{draft: j.gate.draft(name), hint: Hint{Name: name, Beside: true}, layer: 1, outer: next}
	c.Size = unknownSize
	more, c.Err = c.checkPrefix(b, head, false)
	if c.Err == nil || wire.ClassOf(c.Err) == wire.Internal {
		return more && n < innerLook, nil
	}
	if c.applyPolicy(); c.Err == nil {
		return false, nil // an exception applies
	}
	if err := again.addContent(c.draft); err != nil {
		return false, err
	}
	return false, j.adopt(again)
}

// contentNames returns the name of a content, and the prefix for the names of contents
// inside it.
func (j *judgement) contentNames(k *unpack.Kind, i unpack.Item) (name, next string) {
	outer := j.contentPrefix()
	if k.Stream {
		return outer + "!" + k.Inner(path.Base(strings.ReplaceAll(j.hint.Name, "!", "/"))), outer
	}
	return outer + "!" + i.Name, outer + "!" + i.Name
}
