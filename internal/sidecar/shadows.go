package sidecar

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed loaders.txt
var loadersTable string

// loaders are modules of the libraries that load models, and of those that they import for it.
var loaders = sync.OnceValue(func() map[string]bool { return tableOf(loadersTable) })

// shadows returns the module of Python, or of a library that loads models, which the file would
// replace, or "". The folder in which Python is started, or that contains the script, comes first
// on its path. So such a file counts beside a model, as does a package of such a name.
func (r *reader) shadows() (module string, err error) {
	parts := strings.Split(r.t.Name[strings.LastIndexByte(r.t.Name, '!')+1:], "/")
	last := len(parts) - 1
	name, ending, _ := strings.Cut(parts[last], ".")
	switch ending = strings.ToLower(ending); ending {
	case "py", "pyw", "pyc":
	default:
		return "", nil
	}
	up := 0
	if name == "__init__" && last > 0 {
		name, up = parts[last-1], 1
	}
	if !standard()[name] && !loaders()[name] {
		return "", nil
	}
	if last == up || r.t.Around == nil {
		return name, nil
	}
	f, known, err := r.t.Around(up)
	if err == nil && known && f&^hasCode == 0 {
		name = ""
	}
	return name, err
}
