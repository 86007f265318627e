package convert

import (
	"cmp"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/tiles"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// DefaultTile is the number of output bytes that a worker writes at once. Smaller tiles
// cost more system calls; larger ones gain nothing.
const DefaultTile = model.Tile

// A stream is one run of a plan.
type stream struct {
	p       *Plan
	b       *limits.Budget
	files   []io.WriterAt
	tile    int64
	tasks   []task
	sums    []sum // of each out, if the sink needs them
	writing writerLimit
	on      *resumption // nil if nothing is to be resumed

	vouched []*vouched // members of an archive, by the offset of their data

	bytes atomic.Int64 // charged for buffers

	mu     sync.Mutex
	freed  *sync.Cond
	next   int  // index of the next task
	job    *job // the task whose ranges are being handed out
	held   bool // a task uses memory
	memory []byte
	err    error
	failed place // where err occurred
}

// A place is the position of a range in the order in which ranges are handed out.
type place struct {
	task int
	unit int64
}

func (p place) before(q place) bool {
	return cmp.Or(cmp.Compare(p.task, q.task), cmp.Compare(p.unit, q.unit)) < 0
}

// A job is a started task.
type job struct {
	task
	index   int
	at, end int64
	kept    []doneUnits // units from at on that were done by an earlier run
	running int
	opened  sync.Once
	err     error // of open
}

// Stream writes the files of the plan, in the order of [Plan.Files].
func (p *Plan) Stream(files ...io.WriterAt) (*Result, error) { return p.stream(nil, files) }

// stream goes on with what an earlier run has written, if there is such.
func (p *Plan) stream(on *resumption, files []io.WriterAt) (*Result, error) {
	if len(files) != len(p.Files) {
		return nil, wire.At("convert", "", wire.NoOffset, wire.ErrUsage.Errorf("%d writers for %d files", len(files), len(p.Files)))
	}
	s := &stream{p: p, b: p.b, files: files, tile: p.tile, tasks: slices.Clip(p.tasks), on: on}
	defer func() { s.b.Drop(s.bytes.Swap(0)) }()
	p.reset()
	s.freed = sync.NewCond(&s.mu)
	s.writing.left = sync.NewCond(&s.writing.mu)
	if err := s.vouch(); err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	if err := s.begin(); err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	if err := s.recall(); err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	s.on.found(p)
	n, err := s.work()
	if err != nil {
		return nil, err
	}
	if err := s.vouches(); err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	if err := s.end(); err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	r := &Result{Bytes: p.Size, Workers: n, Resumed: s.on.result()}
	for i, c := range p.counts {
		if !c.any() {
			continue
		}
		if r.Special, err = limits.Append(p.b, r.Special, Special{p.Weights[i].Name, c.over.Load(), c.nan.Load(), c.inf.Load()}); err != nil {
			return nil, wire.At("convert", "", wire.NoOffset, err)
		}
	}
	return r, p.overflow(r)
}

// overflow returns the first weight in which a finite number became infinite, if that is
// an error.
func (p *Plan) overflow(r *Result) error {
	for i := range r.Special {
		if x := &r.Special[i]; p.o.FailOnOverflow && x.Overflow > 0 {
			return wire.At("convert", "tensor "+wire.Quote(x.Name), wire.NoOffset,
				wire.ErrUnsupported.Errorf("%d numbers are out of range for %v", x.Overflow, p.castTarget()))
		}
	}
	return nil
}

// reset clears the counts of an earlier run.
func (p *Plan) reset() {
	p.done.Store(0)
	for _, c := range p.counts {
		c.over.Store(0)
		c.nan.Store(0)
		c.inf.Store(0)
	}
}

// alloc charges a buffer, until drop or the end of the stream.
func (s *stream) alloc(n int64) error {
	if err := s.b.Alloc(n); err != nil {
		return err
	}
	s.bytes.Add(n)
	return nil
}

func (s *stream) drop(n int64) {
	s.bytes.Add(-n)
	s.b.Drop(n)
}

// begin allocates the memory that tasks need whole, and writes the parts of files that
// are known.
func (s *stream) begin() error {
	n, ok := wire.Int(uint64(s.p.whole), wire.MaxSize)
	if !ok {
		return wire.ErrUnsupported.Errorf("a weight needs %d bytes in memory at once", s.p.whole)
	}
	if n > 0 {
		if err := s.alloc(int64(n) + tiles.Slack); err != nil {
			return err
		}
		s.memory = tiles.Bytes(n)
	}
	var err error
	if s.p.tail() || s.on != nil {
		if s.sums, err = limits.Make[sum](s.b, len(s.p.Outs)); err != nil {
			return err
		}
	}
	if s.writing.inside, err = limits.Make[int8](s.b, len(s.p.Files)); err != nil {
		return err
	}
	for i := range s.p.Files {
		for _, patch := range s.p.Files[i].layout.Head {
			if err := writeFull(s.files[i], patch.Data, patch.Off); err != nil {
				return err
			}
			s.p.done.Add(int64(len(patch.Data)))
		}
	}
	return nil
}

// end writes the parts that depend on the tensors.
func (s *stream) end() error {
	if err := s.covered(); err != nil {
		return err
	}
	for i := range s.p.Files {
		f := &s.p.Files[i]
		if f.layout.Tail == nil {
			continue
		}
		crcs, err := limits.Make[uint32](s.b, len(f.outs))
		if err != nil {
			return err
		}
		for k, o := range f.outs {
			if crcs[k], err = s.sums[o].whole(s.p.Outs[o].Size); err != nil {
				return err
			}
		}
		patches, err := f.layout.Tail(crcs)
		if err != nil {
			return err
		}
		for _, patch := range patches {
			if err := writeFull(s.files[i], patch.Data, patch.Off); err != nil {
				return err
			}
		}
	}
	return nil
}

// work runs the workers and returns how many there were.
func (s *stream) work() (int, error) {
	most := s.p.o.Threads
	if most <= 0 {
		most = runtime.GOMAXPROCS(0)
	}
	if s.p.o.Memory > 0 {
		most = min(most, max(1, int((s.p.o.Memory-s.p.whole)/workerBytes(s.tile))))
	}
	var wg sync.WaitGroup
	n := 0
	for n < most {
		w, err := newWorker(s)
		if err != nil {
			if n > 0 {
				break
			}
			return 0, wire.At("convert", "", wire.NoOffset, err)
		}
		n++
		wg.Go(func() { s.loop(w) })
		if n >= s.p.ranges(n) {
			break // no more workers than ranges
		}
	}
	wg.Wait()
	return n, s.err
}

// loop does ranges until there are none left.
func (s *stream) loop(w *worker) {
	for {
		j, lo, hi := s.take()
		if j == nil {
			return
		}
		if err := s.do(w, j, lo, hi); s.release(j, lo, err) {
			s.retire(j, s.finish(w, j))
		}
	}
}

// finish does the last part of a task, after all of its ranges.
func (s *stream) finish(w *worker, j *job) (err error) {
	f, ok := j.task.(interface{ finish(*worker) error })
	if !ok || j.at < j.end {
		return nil
	}
	defer encode.Recovered(&err)
	w.forget()
	if err := f.finish(w); err != nil {
		return err
	}
	return s.note(w, j, j.end, j.end, true)
}

// do does one range.
func (s *stream) do(w *worker, j *job, lo, hi int64) (err error) {
	defer encode.Recovered(&err)
	if err := s.b.Err(); err != nil {
		return err
	}
	j.opened.Do(func() { j.err = j.open(s, s.memory) })
	if j.err != nil {
		return j.err
	}
	w.forget()
	if err := j.run(w, lo, hi); err != nil {
		return err
	}
	return s.note(w, j, lo, hi, false)
}

// take hands out the next range. A task that needs memory waits until the previous one
// has released it.
func (s *stream) take() (j *job, lo, hi int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil {
		if j := s.job; j != nil && j.at < j.end {
			lo = j.at
			hi = min(max(j.cut(lo, s.tile), lo+1), j.until())
			j.at = j.skip(hi)
			j.running++
			return j, lo, hi
		}
		if s.next == len(s.tasks) {
			break
		}
		t := s.tasks[s.next]
		if kept := s.kept(s.next); len(kept) == 1 && kept[0] == (doneUnits{0, t.units()}) {
			s.next++
			continue
		}
		if t.whole() > 0 && s.held {
			s.freed.Wait()
			continue
		}
		s.held = s.held || t.whole() > 0
		s.job = &job{task: t, index: s.next, end: t.units(), kept: s.kept(s.next)}
		s.job.at = s.job.skip(0)
		s.next++
		if s.job.end == 0 && t.whole() > 0 {
			s.held = false
		}
	}
	return nil, 0, 0
}

// release ends a range, and reports whether it was the last of its task.
func (s *stream) release(j *job, lo int64, err error) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.running--
	s.fail(j, lo, err)
	return j.running == 0 && (j.at == j.end || s.err != nil)
}

// retire ends a task.
func (s *stream) retire(j *job, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail(j, j.end, err)
	j.close()
	if j.whole() > 0 {
		s.held = false
	}
	s.freed.Broadcast()
}

// fail keeps the error of the first range in order.
func (s *stream) fail(j *job, unit int64, err error) {
	if at := (place{j.index, unit}); err != nil && (s.err == nil || at.before(s.failed)) {
		if wire.ClassOf(err) == wire.Truncated && parser.Unchanged(s.p.b, s.p.m) != nil {
			err = wire.ErrTruncated.Errorf("the source shrank while it was read")
		}
		s.err, s.failed = wire.At("convert", "tensor "+wire.Quote(j.name()), wire.NoOffset, err), at
		s.freed.Broadcast()
	}
}
