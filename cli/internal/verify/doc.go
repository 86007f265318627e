// Package verify has the commands that compare: diff with another model, hash with a manifest,
// verify with checksums and signed statements.
package verify
