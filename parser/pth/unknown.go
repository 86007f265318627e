package pth

import (
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// QuirkTensorsOnly is the leniency that reads the tensors of a checkpoint whose pickle
// asks for more than data. A scan does not know it.
const QuirkTensorsOnly = "pth.tensors-only"

// isUnknown reports whether v was made by a global outside the allowlist, or by calling
// the result of one.
func isUnknown(v vm.Value) bool {
	g := v.Global()
	return g == nil || g.Status != vm.Allowed
}

// className returns the class or the function of an object.
func className(v vm.Value) string {
	if g := v.Global(); g != nil {
		return g.String()
	}
	return "what a call gave"
}

// unknown walks an object of which only arguments and state are known. If it contains
// itself, the inner one is skipped.
func (w *walker) unknown(v vm.Value) error {
	state, has := v.State()
	if err := w.leaf(v); err != nil || w.done || slices.Contains(w.open, v) {
		return err
	}
	if w.b != nil {
		if most := w.b.Policy().Limit(limits.Depth); int64(len(w.open)) >= most {
			return fail(pickleName, v.Off(), &limits.Error{Axis: limits.Depth, Want: most + 1, Left: most})
		}
	}
	if err := grow(w, &w.open, v); err != nil {
		return err
	}
	defer func() { w.open = w.open[:len(w.open)-1] }()
	args := v.Args()
	for i := range args.Len() {
		if err := w.below(step{kind: stepIndex, n: int64(i)}, args.At(i)); err != nil || w.done {
			return err
		}
	}
	if !has {
		return nil
	}
	return w.unknownState(state)
}

// unknownState walks the state given to BUILD: attributes by name, a pair of those and
// the slots, or any other value.
func (w *walker) unknownState(s vm.Value) error {
	attributes := func(v vm.Value) bool { return v.Kind() == vm.KindDict || v.Kind() == vm.KindNone }
	switch {
	case s.Kind() == vm.KindDict && isModule(s):
		return w.module(s)
	case attributes(s), s.Kind() == vm.KindTuple && s.Len() == 2 && attributes(s.At(0)) && attributes(s.At(1)):
		return w.attributes(s)
	}
	return w.below(step{kind: stepAttr, text: "state"}, s)
}

// moduleParts are the attributes of a torch.nn.Module that hold its tensors. They are not
// part of the names in its state dict.
var moduleParts = []string{"_parameters", "_buffers", "_modules"}

func isModule(s vm.Value) bool {
	return !slices.ContainsFunc(moduleParts, func(name string) bool {
		v, ok := s.Lookup(name)
		return !ok || v.Kind() != vm.KindDict
	})
}

// module walks the attributes of a module. The tensors of its state dict are listed;
// others are proven and counted.
func (w *walker) module(s vm.Value) error {
	apart, some := s.Lookup("_non_persistent_buffers_set")
	some = some && apart.Kind() == vm.KindSet && w.yield == nil
	for k, value := range s.Entries() {
		name := repr(k)
		if k.Kind() == vm.KindText {
			name = k.Text()
		}
		var err error
		switch {
		case name == "_buffers" && some:
			err = w.buffers(value, apart)
		case slices.Contains(moduleParts, name):
			err = w.value(value)
		default:
			err = w.unlisted(step{kind: stepAttr, text: name}, value)
		}
		if err != nil || w.done {
			return err
		}
	}
	return nil
}

// buffers walks the buffers of a module, except those that it does not save.
func (w *walker) buffers(v, apart vm.Value) error {
	for k, value := range v.Entries() {
		walk := w.below
		for e := range apart.Elems() {
			if err := w.visit(0); err != nil {
				return err
			}
			if k.Kind() == vm.KindText && e.Kind() == vm.KindText && k.Text() == e.Text() {
				walk = w.unlisted
			}
		}
		if err := walk(keyStep(k), value); err != nil {
			return err
		}
	}
	return nil
}

// unlisted walks a value whose tensors are not listed.
func (w *walker) unlisted(s step, v vm.Value) error {
	if w.exact != nil {
		return nil
	}
	n, sparse := len(w.infos), len(w.sparse)
	err := w.below(s, v)
	w.beside += len(w.infos) - n
	w.infos, w.sparse = w.infos[:n], w.sparse[:sparse]
	return err
}

// maxUnread bounds the findings about unknown globals.
const maxUnread = 16

// unread adds findings about the unknown globals that the pickle names, and the number of
// storages without a listed tensor.
func (d *decoder) unread(w *walker) error {
	more := 0
	for _, g := range d.out.graph.Globals() {
		if g.Status == vm.Allowed || d.judged {
			continue
		}
		if more++; more > maxUnread {
			continue
		}
		text := fmt.Sprintf("%s is not understood (%s): it was not called", wire.Quote(g.String()), g.Reason)
		if err := d.unreadNote(g.Off, text); err != nil {
			return err
		}
	}
	if more > maxUnread {
		if err := d.unreadNote(wire.NoOffset, fmt.Sprintf("%d more classes and functions are not understood", more-maxUnread)); err != nil {
			return err
		}
	}
	if w.beside > 0 {
		text := fmt.Sprintf("%d tensors are attributes of modules and not in their state dict: they are not listed, copies among them", w.beside)
		if err := d.unreadNote(wire.NoOffset, text); err != nil {
			return err
		}
	}
	lost := 0
	for i := range d.st.ids {
		if !d.st.ids[i].seen {
			lost++
		}
	}
	if lost == 0 {
		return nil
	}
	return d.unreadNote(wire.NoOffset, fmt.Sprintf("storages referred to outside of any tensor: %d, for an unknown purpose", lost))
}

func (d *decoder) unreadNote(off int64, text string) error {
	return d.out.Found.Add(d.b, format, tensor.Finding{Code: "pth.not-understood", Severity: tensor.Warning, Where: pickleName, Off: off, Text: text})
}
