// Package browse shows lists on a terminal: tabs of rows that can be scrolled, searched
// and sorted, and pages of text about a row. It knows neither tensors nor terminals: a
// [Model] takes keys and sizes, tells its owner what the user asked for, and draws itself
// as text.
//
// No character of a row or a page can control the terminal: text is quoted by package
// wire, and the only control sequences are those of this package.
package browse
