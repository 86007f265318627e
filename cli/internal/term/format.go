package term

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/width"
)

// Bytes returns a size in units of 1024.
func Bytes(n int64) string {
	size := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB"} {
		if size /= 1024; size < 1023.95 && n >= 1024 {
			return fmt.Sprintf("%.1f %s", size, unit)
		}
	}
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f TiB", size/1024)
	}
	return strconv.FormatInt(n, 10) + " B"
}

// Count groups the digits of a number: 1,234,567.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural returns "1 tensor", "2 tensors".
func Plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Count(n) + " " + what + "s"
}

func Shape(dims []int64) string {
	var s strings.Builder
	s.WriteByte('[')
	for i, d := range dims {
		if i > 0 {
			s.WriteString(", ")
		}
		s.WriteString(strconv.FormatInt(d, 10))
	}
	s.WriteByte(']')
	return s.String()
}

// ShortName returns a name, cut for a list.
func ShortName(name string) string { return CutName(Name(name), 64) }

// Shorthands for package width.

func Width(s string) int                     { return width.Of(s) }
func Cut(s string, n int) string             { return width.Cut(s, n) }
func CutMiddle(s string, n int) string       { return width.Middle(s, n) }
func CutName(s string, n int) string         { return width.Name(s, n) }
func Break(s string, n int) (string, string) { return width.Break(s, n) }
func Pad(s string, n int) string             { return width.Pad(s, n) }
func PadLeft(s string, n int) string         { return width.PadLeft(s, n) }
