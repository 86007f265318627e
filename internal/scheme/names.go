package scheme

import "slices"

// shared are names of parts that unquantized models have too: logit_scale, the scale of a
// norm, the shape of a buffer.
var shared = []string{
	"_scale", "_scale_2", ".scale", "_scales", ".zero", "_zero_point", ".zero_point", ".shape", ".axis", ".weight", ".optimize", ".packing",
}

// owners are suffixes of the names of weights. A part with one of them before its own
// name is a part for sure.
var owners = []string{"_proj", ".weight"}

// Tells reports whether the name of a part is used only beside codes.
func (m *Main) Tells(part, stem string) bool {
	if m.Codes == "" {
		return EndsIn(stem, owners)
	}
	return !slices.Contains(shared, part)
}

// alone returns the suffixes that only parts have.
func (m *Main) alone() (ends []string) {
	for _, part := range m.Parts {
		switch {
		case m.Codes == "":
			for _, owner := range owners {
				ends = append(ends, owner+part)
			}
		case m.Tells(part, ""):
			ends = append(ends, part)
		}
	}
	return ends
}
