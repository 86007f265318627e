package run

import (
	"context"
	"iter"
	"os"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Source is a model to be opened.
type Source struct {
	Path string
	Err  error  // why it cannot be opened, if that is known already
	Name string // relative to the folder of the argument
	Open func(*limits.Budget) (tensor.Model, error)
	Read func(tensor.Model) (done, size int64) // for progress
}

// RemoteOpener returns a function that opens an address, and false if path is not an address or the
// program opens no connections.
func (s *Run) RemoteOpener(ctx context.Context, path string) (func(*limits.Budget) (tensor.Model, error), bool) {
	if !s.IsRemote(path) {
		return nil, false
	}
	return func(b *limits.Budget) (tensor.Model, error) { return s.Remote(ctx, b, path) }, true
}

// Found returns the models that an argument names: those of an address, a file or a folder.
func (s *Run) Found(ctx context.Context, path string, recursive bool) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		if open, ok := s.RemoteOpener(ctx, path); ok {
			yield(Source{Path: path, Open: open}, nil)
			return
		}
		for src, err := range parser.Find(path, recursive || IsPipeline(path)) {
			if !yield(Source{Path: src.Path, Open: src.Open}, err) {
				return
			}
		}
	}
}

// IsRemote reports whether this program opens connections to read path.
func (s *Run) IsRemote(path string) bool { return s.Remote != nil && IsAddress(path) }

// IsAddress reports whether path is an address: a scheme followed by "://".
func IsAddress(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && scheme != "" && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// IsPipeline reports whether path is the folder of a pipeline, whose components are models.
func IsPipeline(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	d, err := parser.OpenFolder(b, path)
	if err != nil {
		return false
	}
	defer d.Close()
	return parser.IsPipeline(d)
}
