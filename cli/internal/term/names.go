package term

import "github.com/anamnesis-go/anamnesis/internal/wire"

// Type returns the name of a type, which may come from the file.
func Type(name string) string { return wire.Clean(name, 32) }

// Name returns a whole name, cleaned for terminals.
func Name(name string) string { return wire.Clean(name, 16*len(name)+16) }

// Tidy cleans text that may contain text of a file or an argument, and cuts it at limit
// bytes. Quotes are kept.
func Tidy(s string, limit int) string { return wire.Text(s, limit) }

// Path returns a whole path, cleaned for terminals.
func Path(path string) string {
	if path == "-" {
		return "standard input"
	}
	return Tidy(path, 4096)
}
