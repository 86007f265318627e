// Package arch holds the tests that keep the shape of the tree: who may import
// whom, how memory is asked for, what is forbidden where, how long a file may
// be. The rules are tables, so a new package or an exception is one row.
package arch
