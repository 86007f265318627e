package sidecar

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A set is the text of a set of characters, and what it has, in the plainest way.
type set struct {
	text string
	has  func(c byte) bool
}

func inRange(from, to byte) func(byte) bool {
	return func(c byte) bool { return from <= c && c <= to }
}

func isWord(c byte) bool {
	return c == '_' || inRange('0', '9')(c) || inRange('a', 'z')(c) || inRange('A', 'Z')(c)
}

// isSpace is that of Python's re for a str.
func isSpace(c byte) bool { return c == ' ' || inRange('\t', '\r')(c) || inRange(0x1c, 0x1f)(c) }

func isFigure(c byte) bool { return inRange('0', '9')(c) }

func isNot(has func(byte) bool) func(byte) bool { return func(c byte) bool { return !has(c) } }

// randomMember returns a random member of a class in brackets.
func randomMember(r *rand.Rand) set {
	known := []set{
		{`\d`, isFigure}, {`\w`, isWord}, {`\s`, isSpace}, {`\D`, isNot(isFigure)}, {`\W`, isNot(isWord)}, {`\S`, isNot(isSpace)},
		{`\b`, inRange(8, 8)}, {`\n`, inRange(10, 10)}, {`\]`, inRange(']', ']')}, {`\\`, inRange('\\', '\\')}, {`.`, inRange('.', '.')}, {`\t`, inRange(9, 9)},
	}
	from, to := byte('!'+r.IntN(90)), byte('!'+r.IntN(90))
	from, to = min(from, to), max(from, to)
	switch r.IntN(3) {
	case 0:
		return known[r.IntN(len(known))]
	case 1:
		return set{fmt.Sprintf(`\x%02x`, from), inRange(from, from)}
	}
	return set{fmt.Sprintf(`\x%02x-\x%02X`, from, to), inRange(from, to)}
}

// randomClass returns a class of some members, or of all others.
func randomClass(r *rand.Rand) set {
	var list []set
	text := ""
	for range 1 + r.IntN(4) {
		m := randomMember(r)
		list, text = append(list, m), text+m.text
	}
	in := func(c byte) bool {
		for _, m := range list {
			if m.has(c) {
				return true
			}
		}
		return false
	}
	if r.IntN(3) == 0 {
		return set{"[^" + text + "]", isNot(in)}
	}
	return set{"[" + text + "]", in}
}

func (c chars) holds(b byte) bool { return c.ascii[b/64]>>(b%64)&1 == 1 }

// A class of an expression has the characters that its members have, letters of both cases where a flag
// says so, and no empty text.
func TestClassesOfExpressionsAreTheirMembers(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 19))
	for range 20_000 {
		of := randomClass(r)
		for _, folds := range []bool{false, true} {
			text, has := of.text, of.has
			if folds {
				if strings.HasPrefix(text, "[^") {
					continue // of a set without a letter, and of one that is folded first, libraries differ
				}
				text, has = "(?i)"+text, func(c byte) bool {
					return of.has(c) || isWord(c) && c != '_' && !isFigure(c) && of.has(c^0x20)
				}
			}
			p := regexParser{text: text}
			n := p.parse()
			if n == nil || n.empty {
				t.Fatalf("%s is not read", text)
			}
			for c := range byte(128) {
				if n.first.holds(c) != has(c) {
					t.Fatalf("%s: %q is taken for a member: %t", text, c, !has(c))
				}
			}
		}
	}
}

// Python refuses an expression that Oniguruma takes, and the other way round.
func TestExpressionsThatAreNone(t *testing.T) {
	for text, is := range map[string][2]bool{ // for Python, for Oniguruma
		`a`: {true, true}, `{2}a`: {false, true}, `*a`: {false, true}, `a{2}`: {true, true}, `{a`: {true, true}, `{,x`: {true, true},
		`(?i)a`: {true, true}, `(?im:a)`: {true, true}, `(?i-m:a)`: {true, true}, `(?1)`: {false, false}, `(?i`: {false, false}, `(?i@)`: {false, false},
		`[a`: {false, false}, `[\`: {false, false}, `a)`: {false, false}, `\`: {false, false}, `[z-a]`: {false, true}, `\xg`: {false, true}, `\p{L}`: {false, true}, `\p{L`: {false, false},
	} {
		for k, tokenizer := range []bool{false, true} {
			p := regexParser{text: text, tokenizer: tokenizer}
			p.parse()
			if got := !p.bad && p.why == ""; got != is[k] {
				t.Errorf("%s, of a tokenizer: %t: read %t", text, tokenizer, got)
			}
		}
	}
}
