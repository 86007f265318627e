package wire

import "strings"

// Natural compares names as people order them: runs of digits by the number they
// write, so that layer 2 comes before layer 10, all else by bytes. Names that differ
// in zeros before a number alone are ordered by their bytes.
func Natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		n, m := digits(x), digits(y)
		if n == 0 || m == 0 {
			if x[0] != y[0] {
				return int(x[0]) - int(y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		p, q := strings.TrimLeft(x[:n], "0"), strings.TrimLeft(y[:m], "0")
		if len(p) != len(q) {
			return len(p) - len(q)
		}
		if c := strings.Compare(p, q); c != 0 {
			return c
		}
		x, y = x[n:], y[m:]
	}
	if x != "" || y != "" {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}

// digits is how many digits a text begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
