package attest

import (
	"fmt"
	"path"
	"slices"

	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// ErrDiffers means that files are not those that were signed. Its class is Differs, as
// for models that are not equal.
var ErrDiffers error = differs{}

// ErrGitDiffers is an [ErrDiffers] in which only files that [Beside] recognizes differ from a
// [Result]: git was used since.
var ErrGitDiffers error = gitDiffers{}

type gitDiffers struct{}

func (gitDiffers) Error() string     { return "what belongs to git has changed" }
func (gitDiffers) Class() wire.Class { return wire.Differs }

// ErrUncovered means that a statement does not cover all that a loader of the model reaches.
var ErrUncovered error = uncovered{}

type uncovered struct{}

func (uncovered) Error() string     { return "not all that a loader reaches is covered" }
func (uncovered) Class() wire.Class { return wire.Differs }

type differs struct{}

func (differs) Error() string     { return "the files are not those that were signed" }
func (differs) Class() wire.Class { return wire.Differs }

// LeavesOut returns the file or folder because of which the claim does not cover a name, or
// "". ok is false if that is more than [Ignored] leaves out, as a claim that nothing was read
// into does.
func (c *Claim) LeavesOut(name string) (what string, ok bool) {
	if c == nil || !c.whole {
		return name, false
	}
	if c.Files == nil {
		if name == SignatureName {
			return name, true
		}
		return "", true
	}
	for at := name; at != "."; at = path.Dir(at) {
		if slices.Contains(c.Ignores, at) {
			return at, Ignored(name) != ""
		}
	}
	return "", true
}

// Check compares files and links to folders with the claim. The files that [Claim.Absent] lists may
// be missing.
func (c *Claim) Check(files []File, links ...Link) error {
	if c == nil || !c.whole {
		return fmt.Errorf("%w: there is no statement about any", ErrDiffers)
	}
	if c.Files == nil {
		return c.checkResult(files, links)
	}
	for _, l := range links {
		return fmt.Errorf("%w: %s is a link to a folder, which no signature of Model Signing covers", ErrDiffers, wire.Quote(l.Name))
	}
	want := map[string]digest.Sum{}
	for _, f := range c.Files {
		want[f.Name] = f.Sum
	}
	for _, f := range sorted(files) {
		sum, ok := want[f.Name]
		switch {
		case !ok:
			return fmt.Errorf("%w: %s was not signed", ErrDiffers, wire.Quote(f.Name))
		case sum != f.Sum:
			return fmt.Errorf("%w: %s has another content", ErrDiffers, wire.Quote(f.Name))
		}
		delete(want, f.Name)
	}
	for _, f := range sorted(c.Files) {
		if _, missing := want[f.Name]; missing {
			return fmt.Errorf("%w: %s is missing", ErrDiffers, wire.Quote(f.Name))
		}
	}
	return nil
}
