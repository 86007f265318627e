package remote

import (
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// The longest name of a file, and the most folders around it.
const (
	maxName  = 4096
	maxDepth = 64
)

// checkName rejects a name that is not one file below a folder, on every system and for every
// client: a tool that stores the files under their names would have a file that was not
// examined here.
func checkName(name string) error {
	if len(name) > maxName || !fs.ValidPath(name) || name == "." || strings.Count(name, "/") > maxDepth || !plainText(name) || hasDrive(name) {
		return wire.ErrForbidden.WithRule("file.path-escape").Errorf("%s is not a name of a file", wire.Quote(name))
	}
	return nil
}

// hasDrive reports whether Windows would take a name for a path on a drive.
func hasDrive(name string) bool {
	return len(name) > 1 && name[1] == ':' && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
}

// plainText reports whether s is UTF-8 without control characters and backslashes. Clients
// differ in what they make of those.
func plainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, '\\') && !strings.ContainsFunc(s, unicode.IsControl)
}

// locate returns the URL below base that a client asks for when it is given these segments. They
// are raw: a percent sign in one is a percent sign of the name, and a slash does not separate.
// keep are bytes that the clients of a source do not escape, besides unreserved ones. Every URL
// that is made from a name or an address is made here.
func locate(base *url.URL, keep string, segments ...string) (*url.URL, error) {
	u := *base
	plain, escaped := strings.TrimSuffix(base.Path, "/"), strings.TrimSuffix(base.EscapedPath(), "/")
	for _, s := range segments {
		if s == "" || s == "." || s == ".." || len(s) > maxName || !plainText(s) {
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

// checkPath rejects the path of a URL that clients rewrite before they ask for it, each in its
// own way: dot segments, empty segments, escapes of bytes that need none, escaped slashes. Two
// clients would get two files.
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
		if err != nil || raw == "" || raw == "." || raw == ".." || strings.Contains(raw, "/") || !plainText(raw) {
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
