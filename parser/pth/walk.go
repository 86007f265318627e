package pth

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A walker visits a checkpoint in the order of the pickle. The same walk is made to list
// the tensors, a second time if some need exact names, and for the metadata.
type walker struct {
	b           *limits.Budget // nil in a walk for metadata, which the first walk bounds
	st          *stores
	found       *tensor.Findings
	tensorsOnly bool       // skip what is unknown
	open        []vm.Value // unknown objects that contain the current value
	beside      int        // number of tensors of modules that are not listed
	path        path
	name        []byte // the last joined name
	names       limits.Texts
	batch       int // values and leaves not yet charged
	left        int
	ints        slab

	// Set in the walk for tensors.
	infos  []tensor.Info
	sparse []sparseCheck
	memory []string // bodies in the pickle itself
	made   *scalar  // type of the last tensor
	packs  bool     // its elements are packed along the last dimension

	// Set in the walk for names: which tensors need their exact name.
	exact []bool
	at    int

	// Set in the walk for metadata.
	yield func(string, any) bool
	done  bool
}

const (
	// visitSteps is the cost of one visit. A pickle may refer to one list many times, so
	// a walk can be much longer than the file.
	visitSteps = 16
	visitBatch = limits.StepBatch / visitSteps
)

// visit charges one value of the walk, and an item for each leaf.
func (w *walker) visit(leaf int) error {
	if w.b == nil {
		return nil
	}
	w.batch++
	w.left += leaf
	if w.batch < visitBatch {
		return nil
	}
	return w.charge()
}

func (w *walker) charge() error {
	steps, items := int64(w.batch*visitSteps), int64(w.left)
	w.batch, w.left = 0, 0
	if err := w.b.Step(steps); err != nil {
		return fail(pickleName, wire.NoOffset, err)
	}
	if err := w.b.Items(items); err != nil {
		return fail(pickleName, wire.NoOffset, err)
	}
	return nil
}

// value walks a value and everything below it. The pickle machine ensures that no value
// contains itself and that nesting is at most MaxDepth.
func (w *walker) value(v vm.Value) error {
	kind := v.Kind()
	switch kind {
	case vm.KindTuple, vm.KindList, vm.KindSet, vm.KindDict, vm.KindObject:
	case vm.KindPersistent:
		if err := w.visit(1); err != nil {
			return err
		}
		return w.bareStorage(v)
	default:
		return w.leaf(v)
	}
	if err := w.visit(0); err != nil {
		return err
	}
	switch kind {
	case vm.KindDict:
		return w.dict(v)
	case vm.KindObject:
		return w.object(v)
	default:
		return w.sequence(v)
	}
}

func (w *walker) push(s step) error {
	if len(w.path) < cap(w.path) {
		w.path = append(w.path, s)
		return nil
	}
	return grow(w, &w.path, s)
}

func (w *walker) pop() { w.path = w.path[:len(w.path)-1] }

// grow appends to a slice and charges the account, if the walk has one.
func grow[S ~[]T, T any](w *walker, s *S, v T) error {
	if w.b == nil {
		*s = append(*s, v)
		return nil
	}
	out, err := limits.Append(w.b, *s, v)
	if err != nil {
		return fail(pickleName, wire.NoOffset, err)
	}
	*s = out
	return nil
}

func (w *walker) dict(v vm.Value) error {
	n := v.Len()
	if _, has := v.State(); n == 0 && !has {
		return w.leaf(v)
	}
	for i := range n {
		k, value := v.Entry(i)
		if err := w.below(keyStep(k), value); err != nil || w.done {
			return err
		}
	}
	return w.state(v)
}

func (w *walker) sequence(v vm.Value) error {
	n, first := v.Len(), len(w.infos)
	if n == 0 {
		return w.leaf(v)
	}
	for i := range n {
		if err := w.below(step{kind: stepIndex, n: int64(i)}, v.At(i)); err != nil || w.done {
			return err
		}
	}
	// The order of the elements of a set is not defined.
	if v.Kind() == vm.KindSet && len(w.infos) > first && !w.tensorsOnly {
		return fail(pickleName, wire.NoOffset, wire.ErrUnsupported.WithRule("pth.tensor-in-set").Errorf("a tensor in a set, which has no order"))
	}
	return w.state(v)
}

func (w *walker) below(s step, v vm.Value) error {
	if err := w.push(s); err != nil {
		return err
	}
	err := w.value(v)
	w.pop()
	return err
}

// state walks the attributes that BUILD gave to a container for tensors only: torch keeps
// the versions of its modules there.
func (w *walker) state(v vm.Value) error {
	if s, has := v.State(); has && (w.yield == nil || v.Kind() == vm.KindObject) {
		return w.attributes(s)
	}
	return nil
}

// attributes walks the state of an object: its attributes by name, or a pair of those and
// the slots.
func (w *walker) attributes(s vm.Value) error {
	switch s.Kind() {
	case vm.KindNone:
		return nil
	case vm.KindTuple:
		if s.Len() != 2 {
			return fail(pickleName, wire.NoOffset, wire.ErrInternal.Errorf("state of %d parts", s.Len()))
		}
		if err := w.attributes(s.At(0)); err != nil || w.done {
			return err
		}
		return w.attributes(s.At(1))
	case vm.KindDict:
		for k, value := range s.Entries() {
			name := keyStep(k)
			name.kind = stepAttr
			if k.Kind() != vm.KindText {
				name.text = repr(k)
			}
			if err := w.below(name, value); err != nil || w.done {
				return err
			}
		}
		return nil
	default:
		return fail(pickleName, wire.NoOffset, wire.ErrInternal.Errorf("state is a %v", s.Kind()))
	}
}

// isEmptyState reports whether a state sets no attribute.
func isEmptyState(s vm.Value) bool {
	if s.Kind() != vm.KindTuple {
		return s.Len() == 0
	}
	for part := range s.Elems() {
		if part.Len() > 0 {
			return false
		}
	}
	return true
}

// leaf handles a value that holds no tensor.
func (w *walker) leaf(v vm.Value) error {
	if err := w.visit(1); err != nil {
		return err
	}
	if w.yield != nil {
		w.yieldMeta("", metaValue(v))
	}
	return nil
}

// yieldMeta yields metadata about the current value, or a part of it.
func (w *walker) yieldMeta(part string, value any) {
	if w.yield == nil || w.done {
		return
	}
	if part != "" {
		w.part(part, func() error {
			w.yieldMeta("", value)
			return nil
		})
		return
	}
	name, _ := w.plainName()
	w.done = !w.yield(name, value)
}

// part runs f one step below, for a part of a tensor.
func (w *walker) part(name string, f func() error) error {
	depth := len(w.path)
	if depth == 0 {
		if err := w.push(step{kind: stepPart, text: rootName}); err != nil {
			return err
		}
	}
	if err := w.push(step{kind: stepPart, text: name}); err != nil {
		return err
	}
	err := f()
	w.path = w.path[:depth]
	return err
}

// tensors lists the tensors, and makes their names unique.
func (w *walker) tensors(root vm.Value) error {
	if err := w.value(root); err != nil {
		return err
	}
	if err := w.charge(); err != nil {
		return err
	}
	same, err := w.collisions()
	if err != nil || !same {
		return err
	}
	w.at, w.path = 0, w.path[:0]
	if err := w.value(root); err != nil {
		return err
	}
	w.exact = nil
	if same, err = w.collisions(); err == nil && same {
		err = fail(pickleName, wire.NoOffset, wire.ErrDuplicate.WithRule("pth.tensor-twice").Errorf("two tensors have the same name, even with their keys escaped"))
	}
	return err
}

// collisions marks the tensors that share a name and reports whether any do.
func (w *walker) collisions() (bool, error) {
	names, err := wire.NewNameSet(w.b, len(w.infos), func(i int) string { return w.infos[i].Name })
	if err != nil {
		return false, fail(pickleName, wire.NoOffset, err)
	}
	any := false
	for i := range w.infos {
		earlier, added, err := names.Add(i)
		if err != nil {
			return false, fail(pickleName, wire.NoOffset, err)
		}
		if added {
			continue
		}
		if w.exact == nil {
			if w.exact, err = limits.Make[bool](w.b, len(w.infos)); err != nil {
				return false, fail(pickleName, wire.NoOffset, err)
			}
		}
		if !any {
			if err := w.collision(i); err != nil {
				return false, err
			}
		}
		any, w.exact[i], w.exact[earlier] = true, true, true
	}
	return any, nil
}

func (w *walker) collision(i int) error {
	return w.found.Add(w.b, format, tensor.Finding{Code: "pth.name-collision", Severity: tensor.Note, Where: "tensor " + strconv.Itoa(i), Off: wire.NoOffset,
		Text: "two tensors would both be called " + wire.Quote(w.infos[i].Name) + ": their names show keys, positions and attributes exactly"})
}

// A slab allocates short runs of integers in few allocations.
type slab struct{ free []int64 }

const slabLen = 512

func (s *slab) take(b *limits.Budget, n int) ([]int64, error) {
	if n > len(s.free) {
		free, err := limits.Make[int64](b, max(n, slabLen))
		if err != nil {
			return nil, err
		}
		s.free = free
	}
	out := s.free[:0:n]
	s.free = s.free[n:]
	return out, nil
}
