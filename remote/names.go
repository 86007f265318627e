package remote

import (
	"fmt"
	"net/url"
	"strings"

	rules "github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// maxName bounds a part of an address.
const maxName = 4096

func checkName(name string) error { return rules.CheckName(name) }

// locate returns the URL below base that a client asks for when it is given these segments. They
// are raw: a percent sign in one is a percent sign of the name, and a slash does not separate.
// keep are bytes that the clients of a source do not escape, besides unreserved ones. Every URL
// that is made from a name or an address is made here.
func locate(base *url.URL, keep string, segments ...string) (*url.URL, error) {
	u := *base
	plain, escaped := strings.TrimSuffix(base.Path, "/"), strings.TrimSuffix(base.EscapedPath(), "/")
	for _, s := range segments {
		if s == "" || s == "." || s == ".." || len(s) > maxName || !rules.IsPlain(s) {
			return nil, fmt.Errorf("%w: %s cannot be a part of an address", ErrForbidden, wire.Quote(s))
		}
		plain, escaped = plain+"/"+s, escaped+"/"+escape(s, keep)
	}
	u.Path, u.RawPath = plain, escaped
	return &u, nil
}

// escape escapes all bytes except unreserved ones (RFC 3986, section 2.3) and those of keep, as
// Python's quote does and as signatures require.
func escape(s, keep string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; unreserved(c) || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// checkPath rejects a path that clients rewrite in different ways before they request it: dot
// segments, empty segments, escapes of bytes that need none, escaped slashes. Two clients could get
// two files.
func checkPath(u *url.URL) error {
	rest := strings.TrimPrefix(u.EscapedPath(), "/")
	if rest == "" {
		return nil
	}
	segments := strings.Split(rest, "/")
	if last := len(segments) - 1; segments[last] == "" {
		segments = segments[:last]
	}
	for _, segment := range segments {
		raw, err := url.PathUnescape(segment)
		if err != nil || raw == "" || raw == "." || raw == ".." || strings.Contains(raw, "/") || !rules.IsPlain(raw) {
			return fmt.Errorf("%w: clients do not agree on the part %s of its path", ErrForbidden, wire.Quote(segment))
		}
		for i := 0; i+2 < len(segment); i++ {
			if c, err := url.PathUnescape(segment[i : i+3]); segment[i] == '%' && err == nil && unreserved(c[0]) {
				return fmt.Errorf("%w: write %s instead of %s in its path: clients do not agree on this escape", ErrForbidden, c, segment[i:i+3])
			}
		}
	}
	return nil
}
