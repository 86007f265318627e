package limits

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

var sizeUnits = [...]struct {
	name  string
	shift uint
}{{"PiB", 50}, {"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}}

// ParseSize reads a number of bytes: "67108864", "64MiB", "64 MiB". The units are B, KiB,
// MiB, GiB, TiB and PiB; decimal units such as MB are refused, because they are ambiguous.
func ParseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	suffix := s[len(digits):]
	if suffix == "" {
		return ParseCount(s)
	}
	for _, u := range sizeUnits {
		if u.name != suffix {
			continue
		}
		n, err := ParseCount(strings.TrimSuffix(digits, " "))
		if err != nil {
			return 0, err
		}
		if hi, lo := bits.Mul64(uint64(n), 1<<u.shift); hi != 0 || lo > 1<<63-1 {
			return 0, fmt.Errorf("%s is more than any file can hold", show(s))
		}
		return n << u.shift, nil
	}
	return 0, fmt.Errorf("unknown unit in %s: write B, KiB, MiB, GiB, TiB or PiB", show(s))
}

// FormatSize writes a number of bytes as [ParseSize] reads it, in the largest
// unit that divides it.
func FormatSize(n int64) string {
	for _, u := range sizeUnits {
		if n != 0 && n&(1<<u.shift-1) == 0 && u.shift > 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// ParseCount reads a plain whole number: digits only.
func ParseCount(s string) (int64, error) {
	if s == "" {
		return 0, fmt.Errorf("a number is missing")
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, fmt.Errorf("%s is not a whole number", show(s))
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s passes 2^63-1", show(s))
	}
	return n, nil
}

// ParseTimeout reads a duration with its unit ("60s", "5m", "1h30m"), or "none".
func ParseTimeout(s string) (time.Duration, error) {
	if s == "none" {
		return NoTimeout, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`%s is not a time: write "60s", "5m", "1h30m" or "none"`, show(s))
	}
	return d, nil
}

// FormatTimeout writes a timeout as [ParseTimeout] reads it.
func FormatTimeout(d time.Duration) string {
	if d == NoTimeout {
		return "none"
	}
	s := d.String() // "1m0s", "1h0m0s"
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func parseValue(u unit, text string) (int64, error) {
	switch u {
	case bytes:
		return ParseSize(text)
	case clock:
		d, err := ParseTimeout(text)
		return int64(d), err
	default:
		return ParseCount(text)
	}
}

func formatValue(u unit, n int64) string {
	switch u {
	case bytes:
		return FormatSize(n)
	case clock:
		return FormatTimeout(time.Duration(n))
	default:
		return strconv.FormatInt(n, 10)
	}
}

// show quotes a value of a policy for a message, cut to a readable length.
func show(s string) string {
	if len(s) > 64 {
		s = s[:64] + "..."
	}
	return strconv.QuoteToASCII(s)
}
