package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/width"
)

// formatBytes returns a size in units of 1024.
func formatBytes(n int64) string {
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

// formatCount groups the digits of a number: 1,234,567.
func formatCount(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural returns "1 tensor", "2 tensors".
func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return formatCount(n) + " " + what + "s"
}

func formatShape(dims []int64) string {
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

// shortName returns a name, cut for a list.
func shortName(name string) string { return cutName(nameText(name), 64) }

// minLast is the least width of a name in the last column of a table, since names differ at
// their ends.
const minLast = 12

// lastName returns a name, cut for the last column of a table. If the other columns leave less
// than minLast, the name stays whole, and the terminal breaks the line.
func (p *printer) lastName(text string, used int) string {
	if p.columns-used < minLast {
		return text
	}
	return cutName(text, p.columns-used)
}

// Shorthands for package width.

func columns(s string) int                          { return width.Of(s) }
func cutColumns(s string, n int) string             { return width.Cut(s, n) }
func cutMiddle(s string, n int) string              { return width.Middle(s, n) }
func cutName(s string, n int) string                { return width.Name(s, n) }
func breakColumns(s string, n int) (string, string) { return width.Break(s, n) }
func pad(s string, n int) string                    { return width.Pad(s, n) }
func padLeft(s string, n int) string                { return width.PadLeft(s, n) }
