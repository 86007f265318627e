// Package arch holds the tests of the architecture: which package may import which, how
// memory is allocated, what is forbidden where, how long a function may be. The rules are
// tables, so a new package or an exception is one row.
package arch
