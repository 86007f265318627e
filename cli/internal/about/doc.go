// Package about has the commands that print what the program knows: formats, limits, policies, rules
// and its version.
package about
