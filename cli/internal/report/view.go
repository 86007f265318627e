package report

import (
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// TitleOf returns the title of a format.
func TitleOf(format string) string {
	for _, f := range slices.Concat(parser.Formats(), parser.Graphs()) {
		if f.Name == format {
			return f.Title
		}
	}
	return format
}

// A View holds what the summary of one format shows besides the common facts.
type View struct {
	Title string // "GGUF v3"
	facts []fact // before the totals
	last  []fact // after them
	// Shape reorders the dimensions to the order of the format's own tools; nil keeps the
	// outermost first.
	Shape func([]int64) []int64
	// hidden reports whether a summary leaves a key out; nil for none.
	hidden func(key string) bool
}

// A fact is one line of a summary.
type fact struct{ label, value string }

// Sharded is implemented by models of several files.
type Sharded interface {
	FileNames() []string
}

// ViewOf returns the view of a model.
func ViewOf(m tensor.Model) View {
	v := View{Title: TitleOf(m.Format())}
	first := m
	if s, ok := m.(Sharded); ok {
		if files := s.FileNames(); len(files) > 0 {
			v.facts = append(v.facts, fact{"Files", fmt.Sprintf("%d, from %s", len(files), term.Path(slices.Min(files)))})
		}
	}
	if s, ok := m.(interface{ First() tensor.Model }); ok {
		first = s.First()
	}
	if u, ok := first.(interface{ Unwrap() tensor.Model }); ok {
		first = u.Unwrap()
	}
	switch f := first.(type) {
	case *gguf.File:
		viewGGUF(&v, f)
	case *pth.File:
		viewPTH(&v, f)
	}
	return v
}
