package convert

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/internal/journal"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A taskState is what the journal says of a task.
type taskState struct {
	whole any   // tasks with the same encoding, which holds what several ranges give, are done together or not at all
	ends  bool  // it has a last part, which is written after all ranges
	ended bool  // which was written
	bad   bool  // a range has other bytes
	last  int64 // the first unit of its last range, -1 for none
}

// A verifier reads what an earlier run has written, and finds the ranges that are right.
type verifier struct {
	s      *stream
	r      *resumption
	states []taskState
	order  [][]int32 // the outs of each file, by their offsets
	kept   atomic.Int64

	mu    sync.Mutex
	again int64 // bytes of ranges that are not right
}

// recall decides which ranges of tasks are done: those of the journal whose bytes are in the
// files. It reads the journal up to three times, and the files once; twice, where the ranges of
// a task are only worth something together.
func (s *stream) recall() error {
	if s.on == nil {
		return nil
	}
	var err error
	if s.on.done, err = limits.Make[[]doneUnits](s.b, len(s.p.tasks)); err != nil || !s.on.old {
		return err
	}
	v := &verifier{s: s, r: s.on}
	if v.states, err = limits.Make[taskState](s.b, len(s.p.tasks)); err != nil {
		return err
	}
	if err := v.sort(); err != nil {
		return err
	}
	groups := false
	for i, t := range s.p.tasks {
		if err := s.b.Step(1); err != nil {
			return err
		}
		_, ends := t.(interface{ finish(*worker) error })
		v.states[i] = taskState{ends: ends, last: -1}
		if e, ok := t.(*encodeTask); ok && e.e.Hold() > 0 {
			v.states[i].whole, groups = e.e, true
		}
	}
	if err := v.r.j.Each(s.b, v.look); err != nil {
		return err
	}
	if err := v.r.j.Cut(); err != nil {
		return err
	}
	if err := v.each(func(st *taskState) bool { return st.whole == nil }); err != nil {
		return err
	}
	if groups {
		// Which of them have all ranges with the right bytes is known after one look.
		if err := v.each(func(st *taskState) bool { return st.whole != nil && st.ended }); err != nil {
			return err
		}
		if err := v.complete(); err != nil {
			return err
		}
		if err := v.sumGroups(); err != nil {
			return err
		}
	}
	if err := v.ends(); err != nil {
		return err
	}
	v.r.Kept, v.r.Again = v.kept.Load(), v.again
	return errors.Join(v.zeroed(), v.clearGaps())
}

// valid reports whether a record can be about this plan.
func (v *verifier) valid(r *journal.Record) bool {
	if r.Task >= len(v.states) || r.Hi > v.s.p.tasks[r.Task].units() || !r.End && r.Lo >= r.Hi || r.End && r.Lo != r.Hi {
		return false
	}
	for i := 0; i < len(r.Pieces); i++ { // at most journal.MaxPieces
		if r.Pieces[i].File >= len(v.order) {
			return false
		}
		if _, ok := v.outAt(&r.Pieces[i]); !ok {
			return false
		}
	}
	return true
}

// sort orders the outs of each file by their offsets.
func (v *verifier) sort() (err error) {
	if v.order, err = limits.Make[[]int32](v.s.b, len(v.s.p.Files)); err != nil {
		return err
	}
	for i := range v.s.p.Files {
		outs := v.s.p.Files[i].outs
		if v.order[i], err = limits.Make[int32](v.s.b, len(outs)); err != nil {
			return err
		}
		copy(v.order[i], outs)
		slices.SortFunc(v.order[i], func(a, b int32) int { return cmp.Compare(v.s.p.Outs[a].off, v.s.p.Outs[b].off) })
	}
	return nil
}

// look notes which tasks ended, and where their last ranges began.
func (v *verifier) look(r *journal.Record) error {
	if !v.valid(r) {
		return nil
	}
	st := &v.states[r.Task]
	if !r.End {
		st.last = max(st.last, r.Lo)
		return nil
	}
	buf, release, err := v.buffer()
	if err != nil {
		return err
	}
	defer release()
	var sums [journal.MaxPieces]pieceSum
	ok, err := v.check(r, buf, &sums)
	st.ended = ok
	return err
}

func (v *verifier) buffer() (buf []byte, release func(), err error) {
	if buf, err = limits.Make[byte](v.s.b, DefaultTile); err != nil {
		return nil, nil, err
	}
	return buf, func() { v.s.b.Drop(DefaultTile) }, nil
}

// each verifies the ranges of some tasks, several at a time.
func (v *verifier) each(some func(*taskState) bool) error {
	records := make(chan journal.Record)
	var wg sync.WaitGroup
	var failed error
	workers := min(max(1, v.s.p.o.Threads), runtime.GOMAXPROCS(0))
	if v.s.p.o.Threads <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	started := 0
	for range workers {
		buf, release, err := v.buffer()
		if err != nil {
			if started > 0 {
				break
			}
			return err
		}
		started++
		wg.Go(func() {
			defer release()
			for r := range records {
				if err := v.one(&r, buf); err != nil {
					v.mu.Lock()
					if failed == nil {
						failed = err
					}
					v.mu.Unlock()
				}
			}
		})
	}
	err := v.r.j.Each(v.s.b, func(r *journal.Record) error {
		if r.End || !v.valid(r) || !some(&v.states[r.Task]) {
			return nil
		}
		v.mu.Lock()
		err := failed
		v.mu.Unlock()
		if err != nil {
			return err
		}
		one := *r
		one.Pieces = slices.Clone(r.Pieces)
		records <- one
		return nil
	})
	close(records)
	wg.Wait()
	if err == nil {
		err = failed
	}
	return err
}

// one verifies one range. The last range of a task whose last part was not written is done
// again, and the task ends with it.
func (v *verifier) one(r *journal.Record, buf []byte) error {
	st := &v.states[r.Task]
	if st.whole == nil && st.ends && !st.ended && r.Lo == st.last {
		return nil
	}
	var sums [journal.MaxPieces]pieceSum
	ok, err := v.check(r, buf, &sums)
	if err != nil {
		return err
	}
	if !ok {
		v.mu.Lock()
		defer v.mu.Unlock()
		st.bad = true
		v.again += recordSize(r)
		return nil
	}
	claimed, err := v.claim(r)
	if err != nil || !claimed || st.whole != nil {
		return err
	}
	return v.commit(r, sums[:])
}

// claim notes that units are done, unless they are already.
func (v *verifier) claim(r *journal.Record) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := v.r.done[r.Task]
	at, _ := slices.BinarySearchFunc(list, r.Lo, func(d doneUnits, lo int64) int { return cmp.Compare(d.lo, lo) })
	if at > 0 && list[at-1].hi > r.Lo || at < len(list) && list[at].lo < r.Hi {
		return false, nil
	}
	if at > 0 && list[at-1].hi == r.Lo {
		list[at-1].hi = r.Hi
		if at < len(list) && list[at].lo == r.Hi {
			list[at-1].hi = list[at].hi
			list = slices.Delete(list, at, at+1)
		}
		v.r.done[r.Task] = list
		return true, nil
	}
	if at < len(list) && list[at].lo == r.Hi {
		list[at].lo = r.Lo
		return true, nil
	}
	list, err := limits.Grow(v.s.b, list, 1)
	if err != nil {
		return false, err
	}
	v.r.done[r.Task] = slices.Insert(list, at, doneUnits{r.Lo, r.Hi})
	return true, nil
}

// A pieceSum has the sums of one piece: of its bytes, and of those that they were copied from.
type pieceSum struct{ crc, source uint32 }

// commit takes the bytes and the counts of a range over.
func (v *verifier) commit(r *journal.Record, sums []pieceSum) error {
	t, _ := v.s.p.tasks[r.Task].(*copyTask)
	for i := range r.Pieces {
		x := &r.Pieces[i]
		o, ok := v.outAt(x)
		if !ok {
			return wire.ErrInternal.Errorf("the journal has bytes that are in no tensor")
		}
		from := x.Off - v.s.p.Outs[o].off
		if err := v.s.sums[o].put(v.s.b, from, x.Len, sums[i].crc); err != nil {
			return err
		}
		if t != nil && t.vouched != nil {
			if err := t.vouched.sum.put(v.s.b, t.info.Span.Off+from-t.vouched.member.DataOff, x.Len, sums[i].source); err != nil {
				return err
			}
		}
		v.s.p.done.Add(x.Len)
		v.kept.Add(x.Len)
	}
	v.counts(r)
	return nil
}

// outAt returns the tensor that a piece lies in.
func (v *verifier) outAt(x *journal.Piece) (int32, bool) {
	outs := v.order[x.File]
	at, _ := slices.BinarySearchFunc(outs, x.Off, func(o int32, off int64) int {
		return cmp.Compare(v.s.p.Outs[o].off+v.s.p.Outs[o].Size, off+1)
	})
	if at == len(outs) {
		return 0, false
	}
	o := &v.s.p.Outs[outs[at]]
	return outs[at], x.Off >= o.off && x.Len <= o.Size-(x.Off-o.off)
}

// counts adds what the range had counted.
func (v *verifier) counts(r *journal.Record) {
	switch t := v.s.p.tasks[r.Task].(type) {
	case *weightTask:
		addCounts(t.specials, r)
	case *encodeTask:
		if e, ok := t.e.(*float8Encoding); ok {
			addCounts(e.counts, r)
		}
		if t.zeroed != nil {
			t.zeroed.Add(r.Counts[countZeroed])
		}
	}
}

func addCounts(s *specials, r *journal.Record) {
	s.over.Add(r.Counts[countOver])
	s.nan.Add(r.Counts[countNaN])
	s.inf.Add(r.Counts[countInf])
}

// check reads the pieces of a record, compares their digests, and computes their sums.
func (v *verifier) check(r *journal.Record, buf []byte, sums *[journal.MaxPieces]pieceSum) (bool, error) {
	t, _ := v.s.p.tasks[r.Task].(*copyTask)
	for i := range r.Pieces {
		x, h := &r.Pieces[i], sha256.New()
		sums[i] = pieceSum{}
		for at := int64(0); at < x.Len; {
			if err := v.s.b.Err(); err != nil {
				return false, err
			}
			p := buf[:min(int64(len(buf)), x.Len-at)]
			n, err := v.r.read[x.File].ReadAt(p, x.Off+at)
			switch {
			case n == len(p):
			case err == io.EOF:
				return false, nil // the file has become shorter
			default:
				return false, err
			}
			h.Write(p)
			sums[i].crc = crc32.Update(sums[i].crc, crc32.IEEETable, p)
			if t != nil && t.vouched != nil {
				model.Swap(p, t.swap) // as they are stored in the source
				sums[i].source = crc32.Update(sums[i].source, crc32.IEEETable, p)
			}
			at += int64(n)
		}
		if [sha256.Size]byte(h.Sum(nil)) != x.Sum {
			return false, nil
		}
	}
	return true, nil
}

// recordSize returns the bytes of a record.
func recordSize(r *journal.Record) (n int64) {
	for i := 0; i < len(r.Pieces); i++ { // at most journal.MaxPieces
		n += r.Pieces[i].Len
	}
	return n
}
