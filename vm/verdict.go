package vm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// The loaders whose verdicts are given.
const (
	// Ours is the name of our own verdict.
	Ours = "anamnesis"
	// torchVersion is the version of PyTorch whose rules are used.
	torchVersion = "2.15.0"
	// WeightsOnlyLoader is PyTorch's restricted loader.
	WeightsOnlyLoader = "torch " + torchVersion + " weights_only"
)

// A Verdict says whether a loader accepts the pickle, and if not, why.
type Verdict struct {
	OK bool
	// Unsure means that no reason is certain: the pickle alone does not tell whether a
	// call or a state that the loader would try succeeds.
	Unsure  bool
	By      string // "anamnesis", "torch 2.15.0 weights_only"
	Reasons []Reason
	More    int // reasons left out
}

// A Reason is one objection to a pickle.
type Reason struct {
	Code   string // "global", "call", "build", "change", "opcode", ...
	Off    int64
	Unsure bool // it may be an objection
	Text   string
}

// A stance is what PyTorch's restricted loader does with what we refuse.
type stance uint8

const (
	refuses stance = iota
	unsure
	takes
)

// maxReasons bounds the reasons of one verdict.
const maxReasons = 64

// add notes a reason.
func (v *Verdict) add(r Reason) {
	if len(v.Reasons) < maxReasons {
		v.Reasons = append(v.Reasons, r)
		return
	}
	v.More++
}

// verdicts collects the verdicts during a run. Its size is bounded by constants.
type verdicts struct {
	safe, torch Verdict
	first       [256]uint32 // first offset of each opcode that torch does not know, +1
	forbidden   *Forbidden  // the first one
	where       string      // its instruction
}

// against notes an objection of PyTorch's restricted loader. The text is made only if it
// is kept, since a file can cause millions. If what is a value, its shape replaces %s.
func (m *machine) against(code, text string, what ref) {
	m.verdicts.torch.note(m, code, text, what)
}

func (v *Verdict) note(m *machine, code, text string, what ref) {
	if len(v.Reasons) == maxReasons {
		v.More++
		return
	}
	if what != refAbsent {
		text = fmt.Sprintf(text, m.g.shape(what))
	}
	v.add(Reason{Code: code, Off: m.g.base + int64(m.op), Text: text})
}

// refuse refuses to use what: it ends a load, and is a reason against the pickle in a
// scan. If with is a value, its shape replaces %s in why. torch is what PyTorch's
// restricted loader does.
func (m *machine) refuse(code string, what ref, why string, with ref, torch stance) error {
	if m.opaques && m.unknown(what) {
		return nil
	}
	v := &m.verdicts
	if full := len(v.torch.Reasons) == maxReasons; len(v.safe.Reasons) == maxReasons && (full || torch == takes) {
		v.safe.More++
		if full && torch != takes {
			v.torch.More++
		}
		return nil
	}
	if with != refAbsent {
		why = fmt.Sprintf(why, m.g.shape(with))
	}
	f := &Forbidden{Off: m.g.base + int64(m.op), Reason: why}
	f.Module, f.Name, f.Status = m.g.who(what)
	if !m.scan {
		return f
	}
	if v.forbidden == nil {
		v.forbidden, v.where = f, m.name()
	}
	if torch != takes {
		v.torch.add(Reason{code, f.Off, torch == unsure, f.text()})
	}
	v.safe.add(Reason{Code: code, Off: f.Off, Text: f.text()})
	return nil
}

// unknown reports whether r is a global outside the allowlist, or was made by calling
// one.
func (m *machine) unknown(r ref) bool {
	switch m.g.kind(r) {
	case KindGlobal, KindObject:
		own := m.g.global(r)
		return own == nil || own.Status != Allowed
	}
	return false
}

// weightsOnly completes the verdict of PyTorch's restricted loader.
func (m *machine) weightsOnly(err error) Verdict {
	v := m.verdicts.torch
	v.By = WeightsOnlyLoader
	for code, at := range m.verdicts.first {
		if at != 0 {
			v.add(Reason{Code: "opcode", Off: m.g.base + int64(at) - 1, Text: "it has no instruction " + opcodes[code].name})
		}
	}
	if err != nil {
		r := broken(err)
		r.Unsure = r.Unsure || m.doubt
		v.add(r)
	}
	slices.SortStableFunc(v.Reasons, func(a, b Reason) int { return cmp.Compare(a.Off, b.Off) })
	v.OK = len(v.Reasons) == 0
	v.Unsure = !v.OK && v.More == 0 && !slices.ContainsFunc(v.Reasons, func(r Reason) bool { return !r.Unsure })
	return v
}

// broken returns an error as a reason. If one of our limits ended the run, another loader
// may continue.
func broken(err error) Reason {
	class := wire.ClassOf(err)
	r := Reason{class.String(), wire.NoOffset, class == wire.Limit, err.Error()}
	if placed, ok := errors.AsType[*wire.Error](err); ok {
		r.Off = placed.Off
	}
	return r
}
