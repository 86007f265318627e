//go:build !unix

package guard

import "testing"

// Guards reports whether memory is guarded here.
const Guards = false

// Memory is n bytes that nothing guards on this system.
func Memory(t testing.TB, n int, _ bool) []byte { return make([]byte, n) }
