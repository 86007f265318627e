package report

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// viewPTH adds the layout of a checkpoint.
func viewPTH(v *View, f *pth.File) {
	if f.Layout() == pth.Legacy {
		v.Title += " (legacy layout)"
	}
	v.last = append(v.last, fact{"Byte order", f.Order().String() + "-endian"})
	// The versions of modules, which state_dict keeps, are of no interest.
	v.hidden = func(key string) bool { return strings.HasPrefix(key, "_metadata.") }
}
