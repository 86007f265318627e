package ollama

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Prefix marks a model name where a path is expected.
const Prefix = "ollama:"

// The defaults of parts that a name leaves out.
const (
	defaultHost      = "registry.ollama.ai"
	defaultNamespace = "library"
	defaultTag       = "latest"
)

// A Name is the name of a model, all parts filled in.
type Name struct {
	Host, Namespace, Model, Tag string
}

// Path returns the path of the manifest in a store.
func (n Name) Path() string {
	return "manifests/" + n.Host + "/" + n.Namespace + "/" + n.Model + "/" + n.Tag
}

func (n Name) String() string {
	return n.Host + "/" + n.Namespace + "/" + n.Model + ":" + n.Tag
}

// ParseName reads a name with or without the prefix: [HOST/][NAMESPACE/]MODEL[:TAG],
// a scheme in front of the host allowed.
func ParseName(s string) (Name, error) {
	rest := strings.TrimPrefix(s, Prefix)
	if _, after, ok := strings.Cut(rest, "://"); ok {
		rest = after
	}
	n := Name{Host: defaultHost, Namespace: defaultNamespace, Tag: defaultTag}
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, '/') {
		rest, n.Tag = rest[:i], rest[i+1:]
	}
	parts := strings.Split(rest, "/")
	if len(parts) > 3 {
		return Name{}, badName(s, "more than host, namespace and model")
	}
	n.Model = parts[len(parts)-1]
	if len(parts) > 1 {
		n.Namespace = parts[len(parts)-2]
	}
	if len(parts) > 2 {
		n.Host = parts[0]
	}
	for _, p := range []struct {
		what, text, also string
		limit            int
	}{
		{"host", n.Host, "-_.:", 350},
		{"namespace", n.Namespace, "-_", 80},
		{"model", n.Model, "-_.", 80},
		{"tag", n.Tag, "-_.", 80},
	} {
		if !validPart(p.text, p.also, p.limit) {
			return Name{}, badName(s, "its "+p.what+" is not one the store allows")
		}
	}
	return n, nil
}

func badName(s, why string) error {
	return wire.At("ollama", "name "+wire.Quote(s), wire.NoOffset, wire.ErrUsage.Errorf("%s", why))
}

// validPart checks a part against the store's alphabet: a letter, digit or underscore,
// then those and the characters in also. It cannot begin with a dot, so it cannot be
// "..".
func validPart(s, also string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		c := s[i]
		word := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
		if !word && (i == 0 || strings.IndexByte(also, c) < 0) {
			return false
		}
	}
	return true
}
