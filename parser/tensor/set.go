package tensor

import (
	"errors"
	"io/fs"
	"path"
	"sort"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An OpenShard decodes one opened file; the model then closes it.
type OpenShard func(b *limits.Budget, h *Handle) (Model, error)

// OpenShards opens the files of a set in one folder, and checks that no tensor is in two
// of them.
func OpenShards(b *limits.Budget, fsys fs.FS, folder string, files []string, format string, open OpenShard) (*Sharded, *SetNames, error) {
	set := &Sharded{Files: files}
	fail := func(err error) (*Sharded, *SetNames, error) {
		set.Close()
		return nil, nil, err
	}
	for _, name := range files {
		m, err := openShard(b, fsys, path.Join(folder, name), format, open)
		if err != nil {
			return fail(inFile("shard "+wire.Quote(name), err))
		}
		set.Parts = append(set.Parts, m)
	}
	if sub, err := fs.Sub(fsys, folder); err == nil {
		set.Folder = sub
	}
	names, err := newSetNames(b, set)
	if err != nil {
		return fail(wire.At(format, "", wire.NoOffset, err))
	}
	return set, names, nil
}

// shardCost is the size in bytes of an open file and its model besides what the decoder
// charges.
const shardCost = 2048

func openShard(b *limits.Budget, fsys fs.FS, name, format string, open OpenShard) (Model, error) {
	err := b.Items(1)
	if err == nil {
		err = b.Hold(shardCost)
	}
	if err != nil {
		return nil, wire.At(format, "", wire.NoOffset, err)
	}
	h, err := OpenFile(fsys, name)
	if err != nil {
		return nil, wire.At(format, "", wire.NoOffset, missingShard(fsys, name, err))
	}
	m, err := open(b, h)
	if err != nil {
		h.Close()
		return nil, wire.At(format, "", wire.NoOffset, err)
	}
	return m, nil
}

// missingShard explains why a shard cannot be opened: it is missing, or a link that leads
// out of what fsys may open. Other errors are the system's.
func missingShard(fsys fs.FS, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return wire.ErrMissing.WithRule("shards.missing").Errorf("no such file in the folder")
	}
	st, lstatErr := fs.Lstat(fsys, name)
	if lstatErr != nil || st.Mode().Type() != fs.ModeSymlink ||
		errors.Is(err, fs.ErrPermission) || wire.ClassOf(err) != wire.Internal {
		return err
	}
	return wire.ErrForbidden.WithRule("file.link-outside").Errorf("a link out of the model's folder")
}

// inFile puts a file's name before the place of an error.
func inFile(where string, err error) error {
	at, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return err
	}
	if at.Where != "" && at.Where != where {
		where += ", " + at.Where
	}
	return &wire.Error{Format: at.Format, Where: where, Off: at.Off, Err: at.Err}
}

// SetNames finds the tensors of a set by name.
type SetNames struct {
	List []string // of all parts, in their order
	ends []int    // index in List where each part's names end
	set  *wire.NameSet
}

func newSetNames(b *limits.Budget, s *Sharded) (*SetNames, error) {
	list, err := limits.Make[string](b, s.Len())
	if err != nil {
		return nil, err
	}
	ends, err := limits.Make[int](b, len(s.Parts))
	if err != nil {
		return nil, err
	}
	n := &SetNames{List: list[:0], ends: ends[:0]}
	n.set, err = wire.NewNameSet(b, len(list), func(i int) string { return n.List[i] })
	if err != nil {
		return nil, err
	}
	steps := b.Steps()
	for i := range s.Tensors() {
		if err := steps.Step(); err != nil {
			return nil, err
		}
		for len(n.ends) < int(i.Part) {
			n.ends = append(n.ends, len(n.List))
		}
		if n.List, err = limits.Append(b, n.List, i.Name); err != nil {
			return nil, err
		}
		first, added, err := n.set.Add(len(n.List) - 1)
		if err != nil {
			return nil, err
		}
		if !added {
			return nil, wire.ErrDuplicate.WithRule("shards.tensor-twice").Errorf("tensor %s is in shards %s and %s", wire.Quote(i.Name),
				wire.Quote(s.Files[n.part(first)]), wire.Quote(s.Files[i.Part]))
		}
	}
	return n, nil
}

// part returns the part of the tensor List[i].
func (n *SetNames) part(i int) int {
	return sort.Search(len(n.ends), func(p int) bool { return n.ends[p] > i })
}

// CheckIndex compares the index with the shards. A tensor that is not where the index
// says is an error. A tensor that the index leaves out, or a wrong total size, is a
// finding.
func (s *Sharded) CheckIndex(b *limits.Budget, x *Index, n *SetNames) error {
	s.Index = path.Base(x.Name)
	listed, err := limits.Make[bool](b, len(n.List))
	if err != nil {
		return x.fail(wire.NoOffset, err)
	}
	steps := b.Steps()
	for _, e := range x.Entries {
		if err := steps.Step(); err != nil {
			return x.fail(int64(e.Off), err)
		}
		i, ok := n.set.Find(e.Tensor)
		if !ok {
			return x.fail(int64(e.Off), wire.ErrMissing.WithRule("shards.tensor-missing").Errorf("tensor %s is not in shard %s",
				wire.Quote(e.Tensor), wire.Quote(x.Files[e.File])))
		}
		if part := n.part(i); part != int(e.File) {
			return x.fail(int64(e.Off), wire.ErrMismatch.WithRule("shards.tensor-elsewhere").Errorf("tensor %s is in shard %s, but the index names %s",
				wire.Quote(e.Tensor), wire.Quote(s.Files[part]), wire.Quote(x.Files[e.File])))
		}
		listed[i] = true
	}
	if err := s.unlistedTensors(b, x, n, listed); err != nil {
		return err
	}
	return s.totalSize(b, x)
}

func (s *Sharded) unlistedTensors(b *limits.Budget, x *Index, n *SetNames, listed []bool) error {
	count, first := 0, 0
	for i, ok := range listed {
		if !ok {
			if count == 0 {
				first = i
			}
			count++
		}
	}
	if count == 0 {
		return nil
	}
	text := "is in shard " + wire.Quote(s.Files[n.part(first)]) + " but not in the index"
	if count > 1 {
		text += "; nor are " + strconv.Itoa(count-1) + " more"
	}
	return s.Found.Add(b, x.format, Finding{
		Code: x.format + ".index-extra", Severity: Warning,
		Where: "tensor " + wire.Quote(n.List[first]), Off: wire.NoOffset, Text: text,
	})
}

// totalSize adds a finding for a wrong total size. Writers count it differently, and no
// loader reads it.
func (s *Sharded) totalSize(b *limits.Budget, x *Index) error {
	sum := uint64(0)
	for i := range s.Tensors() {
		sum += uint64(i.Bytes())
	}
	if x.TotalSize < 0 || sum == uint64(x.TotalSize) {
		return nil
	}
	return s.Found.Add(b, x.format, Finding{
		Code: x.format + ".index-size", Severity: Note,
		Where: "index " + wire.Quote(x.Name), Off: wire.NoOffset,
		Text: "states a total of " + strconv.FormatInt(x.TotalSize, 10) + " bytes, the tensors have " + strconv.FormatUint(sum, 10),
	})
}
