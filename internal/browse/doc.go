// Package browse is a browser of lists for a terminal: tabs of rows that are scrolled,
// searched and sorted, and pages of text behind them. It knows nothing of models and
// nothing of terminals: a [Model] takes keys and sizes, says what is asked of its
// owner, and draws itself as text.
//
// No character of a row or a page can act on the terminal: what is drawn is what
// package wire lets through, and the sequences of this package alone.
package browse
