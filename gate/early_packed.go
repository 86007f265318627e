package gate

import (
	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// innerLook bounds how many decompressed bytes are examined of a compressed file that is
// still arriving.
const innerLook = 64 << 10

// checkPackedPrefix is checkPrefix for archives and compressed files. They are refused as
// soon as one content is.
func (s *subject) checkPackedPrefix(b *limits.Budget, id *parser.Identity, r *prefixReader, sized bool) early {
	k := unpack.Named(id.Packing)
	switch err := s.policy.allowsFormat(packed(id.Named, k)); {
	case err != nil:
		return early{said: report{err: err}}
	case k.Stream:
		return s.partial(b, k, r).checkStreamPrefix(b, r)
	case k.Name != "tar":
		return early{} // a content is judged once all of it has arrived
	}
	u := s.partial(b, k, r)
	err := k.Walk(b, r, s.size, u.judgeContent)
	switch {
	case len(u.out.refusals) > 0:
		return u.early()
	case r.missed || err == nil || wire.ClassOf(err) == wire.Internal:
		return early{more: true}
	}
	return early{said: report{err: permanent(err, sized)}}
}

// partial unpacks those contents of a wrapper that have arrived.
func (s *subject) partial(b *limits.Budget, k *unpack.Kind, r *prefixReader) *unpacking {
	u := newUnpacking(&opened{s: s, r: r, account: b}, k)
	u.begun = r
	return u
}

// early is what the contents that have arrived tell.
func (u *unpacking) early() early {
	o := &u.out
	return early{said: report{err: o.err, format: o.format, contents: o.contents, findings: o.findings, ownCount: o.ownCount, refusals: o.refusals, unlistedRefusals: o.unlistedRefusals}}
}

// checkStreamPrefix checks the beginning of the content of a compressed file.
func (u *unpacking) checkStreamPrefix(b *limits.Budget, r *prefixReader) early {
	n := max(firstLook, min(len(r.head), innerLook))
	head := u.k.Beginning(b, r.head, n)
	if len(head) == 0 {
		return early{more: true} // zstd and bzip2 decompress whole blocks
	}
	name, next := u.contentNames(unpack.Item{})
	c := u.content(nil, unknownSize, name, next)
	c.layer = 1
	tells := c.checkPrefix(b, head, false)
	if tells.said.err == nil || wire.ClassOf(tells.said.err) == wire.Internal {
		return early{more: tells.more && n < innerLook}
	}
	v := c.draft(tells.said)
	if v.applyPolicy(); v.Err == nil {
		return early{} // an exception applies
	}
	if err := u.add(v); err != nil {
		return early{said: report{err: err}}
	}
	return u.early()
}
