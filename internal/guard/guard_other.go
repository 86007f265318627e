//go:build !unix

package guard

// Guards reports whether memory is guarded here.
const Guards = false

// Memory is n bytes that nothing guards on this system.
func Memory(n int) ([]byte, error) { return make([]byte, n), nil }
