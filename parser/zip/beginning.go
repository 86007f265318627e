package zip

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// CheckBeginning refuses an archive by the local header of its first member, as far as
// head holds it. The directory at the end must agree with that header, so [Decode]
// refuses the archive too.
func CheckBeginning(b *limits.Budget, head []byte) error {
	if len(head) < localLen || string(head[:sigLen]) != sigLocal {
		return nil
	}
	le := binary.LittleEndian
	flags, method := le.Uint16(head[6:]), Method(le.Uint16(head[8:]))
	fail := func(off int64, err error) error { return wire.At("zip", "member 0", off, err) }
	d := decoder{b: b}
	if err := d.checkFlags(&Member{Flags: flags, Method: method}); err != nil {
		return fail(6, err)
	}
	if method != Store && method != Deflate {
		return fail(8, wire.ErrUnsupported.WithRule("zip.method").Errorf("compression method %d (%s)", method, methodName(method)))
	}
	if n := int(le.Uint16(head[26:])); len(head)-localLen >= n {
		if err := checkName(string(head[localLen:localLen+n]), flags); err != nil {
			return fail(localLen, err)
		}
	}
	return nil
}
