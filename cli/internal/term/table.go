package term

import "fmt"

// SizeWidth is the width of the column of sizes.
const SizeWidth = 9

// WidthBefore returns the width of a table before its last column.
func WidthBefore(wide, keep []int) int {
	used := 2 * len(keep)
	for _, k := range keep[:len(keep)-1] {
		used += wide[k]
	}
	return used
}

// Widths returns the width of the widest cell of each column.
func Widths(rows [][]string) []int {
	wide := make([]int, len(rows[0]))
	for _, row := range rows {
		for k, text := range row {
			wide[k] = max(wide[k], Width(text))
		}
	}
	return wide
}

// Table prints the columns keep of rows: text aligned left, numbers right, names last.
func (p *Printer) Table(rows [][]string, wide, keep []int) {
	used := WidthBefore(wide, keep)
	for _, row := range rows {
		for i, k := range keep {
			switch {
			case i == len(keep)-1:
				fmt.Fprintf(p, "  %s\n", p.LastName(row[k], used))
			case k < 2:
				fmt.Fprintf(p, "  %s", Pad(row[k], wide[k]))
			default:
				fmt.Fprintf(p, "  %s", PadLeft(row[k], wide[k]))
			}
		}
	}
}
