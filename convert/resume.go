package convert

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/anamnesis-go/anamnesis/internal/journal"
	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/internal/tiles"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// A Resume keeps what an interrupted conversion has written, beside a journal, and lets the same
// conversion go on with it. The output so far is read and compared with the digests of the journal;
// ranges that differ are written again.
type Resume struct {
	// Key seals the journal. Anyone who knows it can make [Plan.Write] publish other bytes, so it
	// must be secret, and the same for the next run: at least 16 bytes.
	Key []byte
	// Job is what the output depends on besides the files of the model and the layout of the
	// output, by name: options that change numbers, other inputs, the version of the program.
	// The journal of a conversion with another job is refused.
	Job map[string]string
	// Found is called before anything is written, once it is known what there is to go on
	// with, if there is something; it may be nil.
	Found func(*Resumed)
}

// Resumed describes how a conversion went on.
type Resumed struct {
	// Kept is how many bytes an earlier run had written, and Again how many it had but which
	// did not have the digest of the journal, or were in the middle of a tensor that is written
	// whole.
	Kept, Again int64
	// Anew says why everything was written anew although there was something to go on with, or
	// is "".
	Anew string
}

// Unfinished is the error of a conversion that a later one can go on with.
type Unfinished struct {
	Kept, Size int64  // bytes
	Path       string // the temporary name
	Err        error
}

func (u *Unfinished) Error() string { return u.Err.Error() }

// Unwrap returns why the conversion did not end.
func (u *Unfinished) Unwrap() error { return u.Err }

// A resumption is the part of a stream that knows what an earlier run has written.
type resumption struct {
	at    *output.Place
	j     *journal.Journal
	log   *os.File
	old   bool           // the journal has records of an earlier run
	read  []outputFile   // the files of the plan
	done  [][]doneUnits  // by task
	facts []journal.Fact // for tests
	Resumed
}

// An outputFile is a file of an output that is written and read again.
type outputFile interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
}

// doneUnits are units of a task that were done.
type doneUnits struct{ lo, hi int64 }

// openJournal opens or begins the journal of an output. resumed says that an earlier run has
// begun the output.
func (p *Plan) openJournal(at *output.Place, resumed bool) (*resumption, error) {
	facts, err := p.facts()
	if err != nil {
		return nil, err
	}
	log, err := at.OpenJournal()
	if err != nil {
		return nil, refusedPlace(err)
	}
	r := &resumption{at: at, log: log, facts: facts}
	if err := r.open(p.b, p.o.Resume.Key, resumed); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return r, nil
}

func (r *resumption) open(b *limits.Budget, key []byte, resumed bool) (err error) {
	if len(key) < sha256.Size/2 {
		return wire.ErrUsage.Errorf("a key of %d bytes", len(key))
	}
	if r.j, err = journal.Open(b, r.log, key, r.facts); err == nil && resumed {
		r.old = true
		return r.at.Adopt()
	}
	var other *journal.Differs
	var bad *journal.Unusable
	switch {
	case errors.As(err, &other) && resumed:
		return otherJob(other)
	case errors.As(err, &bad) && resumed:
		if err := r.at.Strange(); err != nil {
			return refusedPlace(err)
		}
		r.Anew = unusable(bad)
	case err != nil && other == nil && bad == nil:
		return err
	}
	r.j, err = journal.Begin(r.log, key, r.facts)
	return err
}

// remove removes the journal.
func (r *resumption) remove() error {
	if r == nil {
		return nil
	}
	return r.at.RemoveJournal()
}

// close closes the journal.
func (r *resumption) close() error {
	if r == nil {
		return nil
	}
	return r.log.Close()
}

// prepare gives the files their sizes. Ranges that are not known to be written are emptied first.
func (r *resumption) prepare(p *Plan, files []*os.File) error {
	for i, f := range files {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		size := p.Files[i].Size
		if !r.old {
			err = f.Truncate(0)
		} else if info.Size() > size {
			err = f.Truncate(size)
		}
		if err == nil {
			err = tiles.Reserve(f, size)
		}
		if err != nil {
			return err
		}
		r.read = append(r.read, f)
	}
	return nil
}

// Takes reports whether a failure leaves something to go on with: an interrupt, a deadline, a
// full disk or a lost connection do; a source that is wrong does not become right.
func (r *resumption) Takes(err error) bool {
	if r == nil || r.j == nil {
		return false
	}
	switch wire.ClassOf(err) {
	case wire.Internal, wire.Limit:
		return !errors.Is(err, wire.ErrInternal)
	}
	return false
}

// unfinished returns the error of a conversion whose parts are kept.
func (p *Plan) unfinished(at *output.Place, err error) error {
	return &Unfinished{min(p.done.Load(), p.Size), p.Size, at.Unfinished(), err}
}

// kept is what of the task is done, in order.
func (s *stream) kept(task int) []doneUnits {
	if s.on == nil || task >= len(s.on.done) {
		return nil
	}
	return s.on.done[task]
}

// skip returns the first unit from at on that is not done.
func (j *job) skip(at int64) int64 {
	for len(j.kept) > 0 && j.kept[0].lo <= at {
		at = max(at, j.kept[0].hi)
		j.kept = j.kept[1:]
	}
	return at
}

// until returns where a range must end at the latest.
func (j *job) until() int64 {
	if len(j.kept) > 0 {
		return min(j.kept[0].lo, j.end)
	}
	return j.end
}

// counts are the special values of a range: see [specials], and numbers that became zero.
const (
	countOver = iota
	countNaN
	countInf
	countZeroed
)

// note records that a range was written.
func (s *stream) note(w *worker, j *job, lo, hi int64, end bool) error {
	if s.on == nil || j.index >= len(s.p.tasks) {
		return nil
	}
	w.sumUp()
	defer noted()
	return s.on.j.Append(&journal.Record{End: end, Task: j.index, Lo: lo, Hi: hi, Counts: w.saw, Pieces: w.pieces})
}

// noted is for tests that interrupt a conversion.
var noted = func() {}

// forget begins the notes about a range.
func (w *worker) forget() { w.pieces, w.saw, w.sum = w.pieces[:0], [4]int64{}, nil }

// wrote notes what is written of an out, so that the journal can have its digest. Bytes that
// follow each other are one piece.
func (w *worker) wrote(out int32, file int, off int64, p []byte) {
	if len(p) == 0 {
		return
	}
	if n := len(w.pieces); n == 0 || w.sum == nil || w.of != out || w.pieces[n-1].Off+w.pieces[n-1].Len != off {
		w.sumUp()
		w.sum, w.of = sha256.New(), out
		w.pieces = append(w.pieces, journal.Piece{File: file, Off: off})
	}
	w.sum.Write(p)
	w.pieces[len(w.pieces)-1].Len += int64(len(p))
}

// sumUp ends the digest of the last piece.
func (w *worker) sumUp() {
	if w.sum != nil {
		w.sum.Sum(w.pieces[len(w.pieces)-1].Sum[:0])
		w.sum = nil
	}
}

// counted adds special values of a range to those of the weight.
func (w *worker) counted(s *specials, over, nan, inf int64) {
	s.over.Add(over)
	s.nan.Add(nan)
	s.inf.Add(inf)
	w.saw[countOver] += over
	w.saw[countNaN] += nan
	w.saw[countInf] += inf
}

// notes is what a worker notes about a range.
type notes struct {
	pieces []journal.Piece
	sum    hash.Hash // of the last piece
	of     int32     // the out that it lies in
	saw    [4]int64
}

// result returns how a conversion was resumed; nil if it was not.
func (r *resumption) result() *Resumed {
	if r == nil || !r.old && r.Anew == "" {
		return nil
	}
	told := r.Resumed
	return &told
}

// lastLook compares the files of the source with the digests that are stated of them: this run
// has read but a part of them.
func (r *resumption) lastLook(p *Plan) error {
	if r == nil || !r.old {
		return nil
	}
	return parser.VerifyStated(p.b, p.m)
}

// found tells the caller what there is.
func (r *resumption) found(p *Plan) {
	if told := r.result(); told != nil && p.o.Resume.Found != nil {
		p.o.Resume.Found(told)
	}
}

// covered returns an error unless every byte of every tensor was written once, now or by an
// earlier run.
func (s *stream) covered() error {
	if s.on == nil {
		return nil
	}
	for i := range s.p.Outs {
		if err := s.b.Step(1); err != nil {
			return err
		}
		if _, err := s.sums[i].whole(s.p.Outs[i].Size); err != nil {
			return err
		}
	}
	return nil
}
