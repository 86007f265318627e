package digest

import (
	"cmp"
	"crypto/sha256"
	"hash"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/internal/ahead"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A File is a file of a model whose own bytes are hashed too.
type File struct {
	// Part is the [tensor.Info.Part] of the tensors in it, NoPart if they are not to be taken
	// from it.
	Part int32
	// Open opens it to be read from its beginning.
	Open func() (io.ReadCloser, error)

	// Size and Sum are set by [Whole].
	Size int64
	Sum  Sum
}

// NoPart is the part of a file that has no tensors, such as an index.
const NoPart = -1

// Whole is [Tensors], and hashes files of the model. A file is read once, from its beginning to its
// end, and its tensors are hashed as they pass by. Tensors whose bytes are stored in another form
// than they are hashed in (compressed, strided or big-endian), and tensors that share part of their
// bytes with another, are read separately.
func Whole(b *limits.Budget, m tensor.Model, files []File, o Options) (list []Tensor, err error) {
	defer placed(&err)
	j, err := newJob(b, m, o)
	if err != nil {
		return nil, err
	}
	w := &whole{job: j, files: files}
	if err := w.sort(); err != nil {
		return nil, err
	}
	if w.errsOfFiles, err = limits.Make[error](b, len(files)); err != nil {
		return nil, err
	}
	// A file takes two workers, one that hashes it and one that hashes its tensors.
	passes := min(len(files), max(1, o.Workers/2))
	w.helped = o.Workers > 1
	bufs, err := w.buffers(passes)
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	for _, pair := range bufs {
		wg.Go(func() { w.passes(pair) })
	}
	if !w.helped {
		wg.Wait()
	}
	err = j.run(max(1, o.Workers-passes))
	if err != nil {
		j.failed.Store(true)
	}
	wg.Wait()
	if err != nil {
		return nil, err
	}
	return j.result(w.errsOfFiles)
}

// A whole is one call of Whole.
type whole struct {
	*job

	files       []File
	errsOfFiles []error
	next        atomic.Int64
	helped      bool
	passing     []int // tensors that are hashed with their files, by part and place
}

// buffers returns two for each file that is read at a time, or fewer if the account allows no
// more.
func (w *whole) buffers(passes int) (list [][2][]byte, err error) {
	for range passes {
		var pair [2][]byte
		for i := range pair {
			if pair[i], err = limits.Make[byte](w.b, pieceBytes); err != nil {
				if len(list) > 0 {
					return list, nil
				}
				return nil, err
			}
		}
		list = append(list, pair)
	}
	return list, nil
}

// sort chooses the tensors that are hashed with their files, and leaves the others to the
// workers of the job.
func (w *whole) sort() error {
	all, err := limits.Make[int](w.b, len(w.infos))
	if err != nil {
		return err
	}
	w.passing = all[:0]
	for i := range w.infos {
		if w.passesBy(&w.infos[i]) {
			w.passing = append(w.passing, i)
		}
	}
	err = limits.Sort(w.b, w.passing, func(x, y int) int {
		a, b := &w.infos[x], &w.infos[y]
		return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Span.Off, b.Span.Off))
	})
	if err != nil {
		return err
	}
	if w.skip, err = limits.Make[bool](w.b, len(w.infos)); err != nil {
		return err
	}
	if w.same, err = limits.Make[int](w.b, len(w.infos)); err != nil {
		return err
	}
	kept, last := w.passing[:0], -1
	for _, i := range w.passing {
		info := &w.infos[i]
		w.same[i] = i
		if last >= 0 && w.infos[last].Part == info.Part && w.infos[last].Span.End() > info.Span.Off {
			if w.infos[last].Span != info.Span {
				continue // read by itself
			}
			w.same[i], w.skip[i] = last, true // weights that are tied
			continue
		}
		last, w.skip[i] = i, true
		kept = append(kept, i)
	}
	w.passing = kept
	return nil
}

// passesBy reports whether the bytes of a tensor that are hashed are those of its file.
func (w *whole) passesBy(i *tensor.Info) bool {
	if i.DType == tensor.Unknown || i.Strides != nil || i.Order != tensor.Little || i.Span.Len != i.Bytes() {
		return false
	}
	if !slices.ContainsFunc(w.files, func(f File) bool { return f.Part == i.Part }) {
		return false
	}
	_, ok := w.m.At(*i)
	return ok
}

// passes hashes files until there are none left.
func (w *whole) passes(bufs [2][]byte) {
	for !w.failed.Load() {
		n := int(w.next.Add(1)) - 1
		if n >= len(w.files) {
			return
		}
		if err := w.pass(&w.files[n], bufs); err != nil {
			w.errsOfFiles[n] = err
			w.failed.Store(true)
		}
	}
}

// pass hashes a file and the tensors in it.
func (w *whole) pass(f *File, bufs [2][]byte) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	t := &tensorsOf{whole: w, list: w.inPart(f.Part), hash: sha256.New()}
	pieces, hashed := make(chan []byte), make(chan error)
	helped := w.helped && len(t.list) > 0
	if helped {
		var helper sync.WaitGroup
		helper.Go(func() {
			for p := range pieces {
				hashed <- t.take(p)
			}
		})
		defer helper.Wait()
		defer close(pieces)
	}
	h := sha256.New()
	size := int64(0)
	err = ahead.Each(r.Read, bufs, func(p []byte) error {
		if w.failed.Load() {
			return errStopped
		}
		var err error
		if helped {
			pieces <- p
			h.Write(p)
			err = <-hashed
		} else {
			h.Write(p)
			err = t.take(p)
		}
		size += int64(len(p))
		w.count(len(p))
		return cmp.Or(err, w.b.Step(1))
	})
	if err != nil {
		return err
	}
	f.Size = size
	h.Sum(f.Sum[:0])
	return t.end()
}

// inPart returns the tensors that are hashed with a part.
func (w *whole) inPart(part int32) []int {
	by := func(i int, part int32) int { return cmp.Compare(w.infos[i].Part, part) }
	from, _ := slices.BinarySearchFunc(w.passing, part, by)
	to, _ := slices.BinarySearchFunc(w.passing, part+1, by)
	return w.passing[from:to]
}

// A tensorsOf hashes the tensors of a file while it passes by.
type tensorsOf struct {
	*whole

	list []int // that are left
	hash hash.Hash
	at   int64 // where the next piece begins
}

// take hashes what the next piece of the file has of tensors.
func (t *tensorsOf) take(p []byte) error {
	end := t.at + int64(len(p))
	for len(t.list) > 0 {
		span := t.infos[t.list[0]].Span
		from, to := max(span.Off, t.at), min(span.End(), end)
		if from < to {
			t.hash.Write(p[from-t.at : to-t.at])
			t.count(int(to - from))
		}
		if span.End() > end {
			break
		}
		if err := t.b.Step(tensorSteps); err != nil {
			return err
		}
		t.keep()
	}
	t.at = end
	return nil
}

// keep ends the first tensor.
func (t *tensorsOf) keep() {
	i := t.list[0]
	var sum Sum
	t.hash.Sum(sum[:0])
	t.hash.Reset()
	t.set(i, sum)
	t.list = t.list[1:]
}

// end fails if the file was shorter than its tensors say, since it has shrunk then.
func (t *tensorsOf) end() error {
	if len(t.list) == 0 {
		return nil
	}
	info := &t.infos[t.list[0]]
	return wire.At(t.m.Format(), "tensor "+wire.Quote(info.Name), info.Span.Off, wire.ErrTruncated)
}
