package term

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB",
		1 << 20: "1.0 MiB", 1<<20 + 1<<19: "1.5 MiB", 5 << 20: "5.0 MiB", 1 << 30: "1.0 GiB", 2469606195: "2.3 GiB", 1<<40 - 1: "1.0 TiB", 1 << 40: "1.0 TiB", 1<<50 + 1<<49: "1536.0 TiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestFormatCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -100: "-100", 1<<63 - 1: "9,223,372,036,854,775,807"} {
		if got := Count(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestTidy(t *testing.T) {
	for s, want := range map[string]string{
		`"a" \u{1b}`: `"a" \u{1b}`, "a\x1b[0m": `a\u{1b}[0m`, "\xff": `\x{ff}`, "日\u202e": `日\u{202e}`, "a\nb": `a\u{a}b`,
	} {
		if got := Tidy(s, 100); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	for _, s := range []string{strings.Repeat("é", 100), strings.Repeat("\x1b", 100), strings.Repeat(`"`, 100)} {
		got := Tidy(s, 51)
		if len(got) > 51 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("%q of %d bytes", got, len(got))
		}
	}
}
