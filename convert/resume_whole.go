package convert

import (
	"cmp"
	"errors"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/journal"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// complete decides which tasks with a common encoding are done: those of which all units are,
// all together.
func (v *verifier) complete() error {
	undone := map[any]bool{}
	for i := range v.states {
		st := &v.states[i]
		if err := errors.Join(v.s.b.Step(1), v.s.b.Hold(32)); err != nil {
			return err
		}
		if st.whole != nil && (st.bad || !st.ended || !v.allDone(i)) {
			undone[st.whole] = true
		}
	}
	for i := range v.states {
		if err := v.s.b.Step(1); err != nil {
			return err
		}
		if st := &v.states[i]; st.whole != nil && undone[st.whole] {
			v.r.done[i], st.ended = nil, false
		}
	}
	return nil
}

// allDone reports whether all units of a task are done.
func (v *verifier) allDone(i int) bool {
	n, d := v.s.p.tasks[i].units(), v.r.done[i]
	return n == 0 || len(d) == 1 && d[0] == doneUnits{0, n}
}

// sumGroups takes over the tasks that complete has left.
func (v *verifier) sumGroups() error {
	buf, release, err := v.buffer()
	if err != nil {
		return err
	}
	defer release()
	taken, err := limits.Make[[]doneUnits](v.s.b, len(v.states))
	if err != nil {
		return err
	}
	done := v.r.done
	v.r.done = taken
	err = v.r.j.Each(v.s.b, func(r *journal.Record) error {
		if r.End || !v.valid(r) || v.states[r.Task].whole == nil {
			return nil
		}
		if done[r.Task] == nil {
			v.again += recordSize(r)
			return nil
		}
		claimed, err := v.claim(r)
		if err != nil || !claimed {
			return err
		}
		return v.adopt(r, buf)
	})
	for i := range done {
		if failed := v.s.b.Step(1); failed != nil {
			return failed
		}
		if v.states[i].whole == nil {
			taken[i] = done[i]
		}
	}
	return err
}

// adopt takes over what is known to be right.
func (v *verifier) adopt(r *journal.Record, buf []byte) error {
	var sums [journal.MaxPieces]pieceSum
	ok, err := v.check(r, buf, &sums)
	if err != nil {
		return err
	}
	if !ok {
		return wire.ErrMismatch.Errorf("another program writes the unfinished output")
	}
	return v.commit(r, sums[:])
}

// ends takes over the last parts of tasks that are done.
func (v *verifier) ends() error {
	buf, release, err := v.buffer()
	if err != nil {
		return err
	}
	defer release()
	return v.r.j.Each(v.s.b, func(r *journal.Record) error {
		if !r.End || !v.valid(r) || !v.states[r.Task].ended || !v.allDone(r.Task) {
			return nil
		}
		v.states[r.Task].ended = false // once
		return v.adopt(r, buf)
	})
}

// zeroed states how many numbers became zero in weights whose tasks are done.
func (v *verifier) zeroed() error {
	for _, t := range v.s.p.tasks {
		if err := v.s.b.Step(1); err != nil {
			return err
		}
		if t, ok := t.(*encodeTask); ok && t.zeroed != nil {
			v.s.p.Quantized.Weights[t.index].Zeroed = t.zeroed.Load()
		}
	}
	return nil
}

// clearGaps writes zeros wherever neither a patch nor a tensor is.
func (v *verifier) clearGaps() error {
	type span struct{ lo, hi int64 }
	for i := range v.s.p.Files {
		f := &v.s.p.Files[i]
		spans, err := limits.Make[span](v.s.b, len(f.layout.Head)+len(f.outs)+1)
		if err != nil {
			return err
		}
		n := 0
		for _, patch := range f.layout.Head {
			if err := v.s.b.Step(1); err != nil {
				return err
			}
			spans[n] = span{patch.Off, patch.Off + int64(len(patch.Data))}
			n++
		}
		for _, o := range f.outs {
			if err := v.s.b.Step(1); err != nil {
				return err
			}
			spans[n] = span{v.s.p.Outs[o].off, v.s.p.Outs[o].off + v.s.p.Outs[o].Size}
			n++
		}
		spans[n] = span{f.Size, f.Size}
		slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
		var zeros [4096]byte
		at := int64(0)
		for _, s := range spans {
			if err := v.s.b.Step(1); err != nil {
				return err
			}
			for at < s.lo {
				part := zeros[:min(int64(len(zeros)), s.lo-at)]
				if err := writeFull(v.s.files[i], part, at); err != nil {
					return err
				}
				at += int64(len(part))
			}
			at = max(at, s.hi)
		}
		v.s.b.Drop(int64(cap(spans)) * 16)
	}
	return nil
}
