package gate

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Gate judges files. The zero value refuses findings of severity danger, and files that
// could hold a model but were not looked at.
type Gate struct {
	Policy Policy
	// Today is the date for the expiry of exceptions, such as "2026-11-23". Without it
	// every exception with a last day has expired.
	Today string
	// Version of the program, for the report.
	Version string
	// Digest asks for the SHA-256 of each file. It is computed while the bodies are read,
	// and makes the gate read all bytes.
	Digest bool
	// Exclude, if set, reports the files of a folder that [Gate.CheckPath] leaves out, by
	// their paths below the folder, with slashes.
	Exclude func(name string) bool
	// Seen, if set, is called for each model whose bodies were read, while it is open. Its
	// error refuses the file.
	Seen func(b *limits.Budget, m tensor.Model) error
	// Beside says that a file given to [Gate.CheckPath] is treated like a file of a folder,
	// which need not be a model.
	Beside bool

	digest  string      // of the policy, if [Gate.WithDigest] computed it
	excused *exceptions // index of Policy.Ignore, see [Gate.indexed]
}

// A Hint is what is known about a file apart from its bytes.
type Hint struct {
	// Name is the name of the file, or its path below a folder, with slashes. Its extension
	// promises a format, and patterns of the policy are matched with it.
	Name string
	// Promised is the format that the sender stated, "" for none. A file of another format
	// is refused.
	Promised string
	// Beside says that the file is one of a folder: it need not be a model, unless its name
	// promises one.
	Beside bool
	// Field says that the bytes are the value of a field of a form, which a program takes apart: it
	// is no file that a loader finds by its name. A text that no kind of folder has is not reported
	// for it, and no receipt is given for it.
	Field bool
	// SHA256 is the digest of the bytes, in hex, if the caller computed it while they came;
	// the gate then believes it. Without it the gate computes it if [Gate.Digest] is set.
	SHA256 string

	stored string                 // the path of the file that a link leads to, or its own
	near   func(name string) bool // reports whether the folder has a file of that name
	around around                 // the kinds of the folders of the file
	// weights returns the files with weights in the folder.
	weights func() (w sidecar.Weights, known bool, err error)
	// holdsData reports whether an ONNX model in the same folder stores its data in the
	// file.
	holdsData func(*limits.Budget) bool
	// whyNotOpened says why the file at a path below this one's folder is not opened, or
	// returns nil.
	whyNotOpened func(string) error
	unchanged    watch // says whether the file is still what it was
}

// Check judges a file under the policy of the account, with the zero [Gate].
func Check(b *limits.Budget, r io.ReaderAt, size int64, h Hint) (*Verdict, error) {
	g := Gate{Policy: Policy{Limits: *b.Policy()}}
	return g.Check(b, r, size, h)
}

// Check judges a file. The verdict says what is wrong with it; its class is Internal if the
// file could not be read. An error means that the context ended. The caller closes the
// verdict, which holds memory for pickles.
func (g *Gate) Check(b *limits.Budget, r io.ReaderAt, size int64, h Hint) (*Verdict, error) {
	if g == nil {
		return nil, errNoGate
	}
	s := g.subject(nil, size, h)
	if s.asked = true; s.hint.unchanged == nil {
		s.hint.unchanged = watchOpen(r)
	}
	s.bytes = s.hashing(r)
	return g.guarded(h.Name, func() (*Verdict, error) {
		said, err := s.report(b)
		if err != nil {
			return nil, err
		}
		if said.openings == nil {
			said.openings = []Opening{}
		}
		return g.finish(b, s.draft(said), s.bytes)
	})
}

// guarded makes a panic of a judgement the refusal of its file, of class Internal.
func (g *Gate) guarded(name string, judge func() (*Verdict, error)) (v *Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = g.Failed(name, wire.At("gate", "", wire.NoOffset, wire.ErrInternal.Errorf("panic: %s", wire.Clean(fmt.Sprint(p), 512)))), nil
		}
	}()
	return judge()
}

// draft returns the draft of a verdict about the file called name.
func (g *Gate) draft(name string) *draft {
	g = g.indexed()
	return &draft{Name: name, gate: g, policy: g.Policy.For(name)}
}

// CheckModel judges a model that was found by a name in a store, or as an index of shards.
// bodies says whether to read its bodies.
func (g *Gate) CheckModel(b *limits.Budget, name string, bodies bool, open func() (tensor.Model, error)) (*Verdict, error) {
	if g == nil {
		return nil, errNoGate
	}
	return g.checkModel(b, g.draft(name), bodies, open, nil)
}

// CheckOpened judges a model that the caller has opened and keeps open, or the error of
// opening it. r is the file of size bytes for the digest, nil for none. Bodies are not
// read.
func (g *Gate) CheckOpened(b *limits.Budget, name string, m tensor.Model, err error, r io.ReaderAt, size int64) (*Verdict, error) {
	if g == nil {
		return nil, errNoGate
	}
	v := g.draft(name)
	v.Size = size
	v.unchanged = func() error {
		if m == nil {
			return nil
		}
		return modelUnchanged(m)
	}
	return g.checkModel(b, v, false, func() (tensor.Model, error) { return keepOpen{m}, err }, r)
}

// keepOpen is a model that its owner closes.
type keepOpen struct{ tensor.Model }

func (keepOpen) Close() error { return nil }

// checkModel judges a model. r is the file to digest, or nil.
func (g *Gate) checkModel(b *limits.Budget, v *draft, bodies bool, open func() (tensor.Model, error), r io.ReaderAt) (*Verdict, error) {
	return g.guarded(v.Name, func() (*Verdict, error) {
		v.take(g.reportOpened(b, v.policy, bodies, open))
		if err := contextError(b, v.Err); err != nil {
			return nil, err
		}
		return g.finish(b, v, r)
	})
}

// Unseen returns the verdict about a file that could hold a model and was not opened.
func (g *Gate) Unseen(name, why string) *Verdict {
	if g == nil {
		return noVerdict(name, errNoGate)
	}
	return g.unseen(name, why).conclude(true)
}

func (g *Gate) unseen(name, why string) *draft {
	v := g.draft(name)
	v.Unlooked = cmp.Or(why, "it was not opened")
	v.applyPolicy()
	return v
}

// Failed returns the verdict about a file that could not be opened, which is a refusal.
func (g *Gate) Failed(name string, err error) *Verdict {
	if g == nil {
		return noVerdict(name, errNoGate)
	}
	v := g.draft(name)
	v.Err = err
	return v.conclude(false)
}

// excluded returns the verdict about a file that [Gate.Exclude] leaves out.
func (g *Gate) excluded(name string) *Verdict {
	v := g.draft(name)
	v.Excluded = true
	return v.conclude(false)
}

// finish applies what the policy says beyond the limits, and digests the file. It is the
// end of every judgement of a file.
func (g *Gate) finish(b *limits.Budget, v *draft, r io.ReaderAt) (_ *Verdict, err error) {
	done := false
	defer func() {
		if !done {
			v.Close()
		}
	}()
	v.checkPromise()
	if err := v.checkDigestName(b, r); err != nil {
		return nil, err
	}
	if g.Digest && r != nil {
		if err := v.hash(b, r); err != nil {
			return nil, err
		}
	}
	v.applyPolicy()
	v.checkUnchanged()
	done = true
	return v.conclude(true), nil
}

// contextError returns err if it is due to the end of the context, and so says nothing
// about the file.
func contextError(b *limits.Budget, err error) error {
	if err != nil && b.Context().Err() != nil && !errors.Is(err, limits.ErrLimit) {
		return err
	}
	return nil
}
