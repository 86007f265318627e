package convert

import (
	"cmp"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// A vouched is a stored archive member whose CRC is checked while its bytes are copied.
// Bytes that no task copies are read only for the check.
type vouched struct {
	index  int
	member *zip.Member
	sum    sum
	claims []tensor.Span // relative to the member's first byte
}

// maxClaims bounds the tensors of one member that are summed while they are copied. Files
// have one; if there are more, the rest is read twice.
const maxClaims = 16

// archive returns the archive that the model is read from, or nil.
func (s *stream) archive() *zip.Archive {
	if m, ok := s.source().(interface{ Container() *zip.Archive }); ok {
		return m.Container()
	}
	return nil
}

// vouch adds tasks that read the bytes of members that no other task reads, and connects
// tasks that copy whole ranges with the sums.
func (s *stream) vouch() error {
	if f, ok := s.source().(interface{ VerifyIndices(*limits.Budget) error }); ok {
		if err := f.VerifyIndices(s.b); err != nil {
			return err
		}
	}
	a := s.archive()
	if a == nil {
		return nil
	}
	all, err := limits.Make[vouched](s.b, len(a.Members))
	if err != nil {
		return err
	}
	if s.vouched, err = limits.Make[*vouched](s.b, len(a.Members)); err != nil {
		return err
	}
	for i := range a.Members {
		all[i].index, all[i].member = i, &a.Members[i]
		s.vouched[i] = &all[i]
	}
	if err := limits.SortUnstable(s.b, s.vouched, func(x, y *vouched) int { return cmp.Compare(x.member.DataOff, y.member.DataOff) }); err != nil {
		return err
	}
	inOrder, err := s.inOrder()
	if err != nil {
		return err
	}
	for _, t := range s.tasks {
		if c, ok := t.(*copyTask); ok {
			if err := s.claim(c); err != nil {
				return err
			}
		}
	}
	for _, v := range s.vouched {
		stem, array := strings.CutSuffix(v.member.Name, ".npy")
		if _, read := inOrder.Find(stem); array && read && v.member.Method != zip.Store {
			continue // its reader checks the CRC
		}
		if err := s.fill(a, v); err != nil {
			return err
		}
	}
	return nil
}

// source returns the model as it was opened.
func (s *stream) source() tensor.Model {
	if s.p.view.Told().Renamed {
		return s.p.view.Sources()[0]
	}
	return s.p.m
}

// inOrder returns the names of tensors that tasks read in order to their end.
func (s *stream) inOrder() (*wire.NameSet, error) {
	var names []string
	set, err := wire.NewNameSet(s.b, len(s.tasks), func(i int) string { return names[i] })
	if err != nil {
		return nil, err
	}
	add := func(i *tensor.Info) {
		if _, direct := s.p.m.At(*i); direct || err != nil {
			return
		}
		name := i.Name
		if t := s.p.view.Tensor(i.Name); t != nil {
			name = t.Source.Info().Name
		}
		if names, err = limits.Append(s.b, names, name); err == nil {
			_, _, err = set.Add(len(names) - 1)
		}
	}
	for _, t := range s.tasks {
		switch t := t.(type) {
		case *orderedTask:
			add(&t.info)
		case *viewTask:
			add(&t.info)
		case *weightTask:
			for i := range t.parts {
				add(&t.parts[i].info)
			}
		}
	}
	return set, err
}

// claim gives a task the sum of the member that it copies.
func (s *stream) claim(t *copyTask) error {
	t.vouched = nil
	at, found := slices.BinarySearchFunc(s.vouched, t.info.Span.Off, func(v *vouched, off int64) int { return cmp.Compare(v.member.DataOff, off) })
	if !found {
		at--
	}
	if at < 0 || t.size == 0 {
		return nil
	}
	v := s.vouched[at]
	span := tensor.Span{Off: t.info.Span.Off - v.member.DataOff, Len: t.info.Span.Len}
	overlaps := func(c tensor.Span) bool { return c.Off < span.End() && span.Off < c.End() }
	if v.member.Method != zip.Store || span.End() > v.member.Size || len(v.claims) == maxClaims || slices.ContainsFunc(v.claims, overlaps) {
		return nil
	}
	var err error
	v.claims, err = limits.Append(s.b, v.claims, span)
	t.vouched = v
	return err
}

// fill adds tasks for the bytes of a member that no task copies.
func (s *stream) fill(a *zip.Archive, v *vouched) (err error) {
	if v.member.Method != zip.Store {
		s.tasks, err = limits.Append(s.b, s.tasks, task(&checkTask{v: v, a: a, size: 1, ordered: true}))
		return err
	}
	if err := limits.SortUnstable(s.b, v.claims, func(x, y tensor.Span) int { return cmp.Compare(x.Off, y.Off) }); err != nil {
		return err
	}
	at := int64(0)
	for _, c := range append(v.claims, tensor.Span{Off: v.member.Size}) {
		if c.Off > at {
			if s.tasks, err = limits.Append(s.b, s.tasks, task(&checkTask{v: v, a: a, off: at, size: c.Off - at})); err != nil {
				return err
			}
		}
		at = c.End()
	}
	return nil
}

// vouches compares every sum with the CRC in the archive.
func (s *stream) vouches() error {
	for _, v := range s.vouched {
		if v.member.Method != zip.Store {
			continue
		}
		got, err := v.sum.whole(v.member.Size)
		if err == nil && got != v.member.CRC {
			err = wire.At(s.p.m.Format(), zip.Where(v.index, v.member.Name), v.member.DataOff,
				wire.ErrChecksum.Errorf("CRC-32 is %08x, expected %08x", got, v.member.CRC))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A checkTask reads a range of a stored member for its sum, or all of a deflated member,
// whose reader checks the CRC. Its units are bytes.
type checkTask struct {
	v         *vouched
	a         *zip.Archive
	off, size int64
	ordered   bool
	r         io.ReaderAt
}

func (t *checkTask) units() int64          { return t.size }
func (t *checkTask) whole() int64          { return 0 }
func (t *checkTask) close()                { t.r = nil }
func (t *checkTask) name() string          { return t.v.member.Name }
func (t *checkTask) first() (int32, int64) { return 0, 0 }
func (t *checkTask) cut(lo, n int64) int64 { return lo + n }
func (t *checkTask) open(*stream, []byte) error {
	t.r, _ = t.a.At(t.v.index)
	return nil
}

func (t *checkTask) run(w *worker, lo, hi int64) error {
	if t.ordered {
		return t.inflate(w)
	}
	p, err := w.in.at(w.s, t.v.member.DataOff+t.off+lo, hi-lo)
	if err != nil {
		return err
	}
	if err := wire.ReadFull(t.r, p, t.off+lo); err != nil {
		return err
	}
	return t.v.add(w, t.off+lo, p)
}

// inflate reads a member to its end, which comes only if the CRC is right.
func (t *checkTask) inflate(w *worker) error {
	r, err := t.a.Open(w.s.b, t.v.index)
	if err != nil {
		return err
	}
	defer r.Close()
	p, err := w.in.at(w.s, 0, min(w.s.tile, DefaultTile))
	for err == nil {
		_, err = r.Read(p)
	}
	if err == io.EOF {
		err = nil
	}
	return err
}

// add adds bytes of the member to its sum.
func (v *vouched) add(w *worker, off int64, p []byte) error {
	return v.sum.put(w.s.b, off, int64(len(p)), crc32.ChecksumIEEE(p))
}
