package form

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// Shifted is the rows of a form from a given row on.
type Shifted struct {
	Form
	First int64
}

func (f *Shifted) Geometry() Geometry { return Geometry{Shared: true} }

func (f *Shifted) Need(p int, lo, hi int64) tensor.Span {
	return f.Form.Need(p, f.First+lo, f.First+hi)
}

func (f *Shifted) decode(dst []float32, parts [][]byte, lo, hi int64) {
	f.Form.decode(dst, parts, f.First+lo, f.First+hi)
}

func (f *Shifted) direct(q request) bool {
	return f.Form.direct(q.withParts(q.parts, f.First+q.lo, f.First+q.hi))
}
