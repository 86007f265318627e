package cli

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// viewPTH shows how a checkpoint is laid out.
func viewPTH(v *view, f *pth.File) {
	if f.Layout() == pth.Legacy {
		v.title += " (legacy layout)"
	}
	v.last = append(v.last, fact{"Byte order", f.Order().String() + "-endian"})
	// What state_dict keeps of each module's version says nothing to people.
	v.hidden = func(key string) bool { return strings.HasPrefix(key, "_metadata.") }
}
