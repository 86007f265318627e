package pth

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A store is the bytes of one storage, or of a view of one, which files of PyTorch 0.x
// have. In a legacy file span.Off is known last.
type store struct {
	name   string // Info.Storage
	span   tensor.Span
	scalar *scalar // of the elements, from the first reference
	place  string  // location, from the first reference
	count  uint64  // elements, from the first reference
	parent int32   // index of the store that this is a view of, or noParent
	from   uint64  // offset in the parent
	used   bool
}

const noParent = -1

// stores are the storages of a file, by key.
type stores struct {
	b     *limits.Budget
	keys  *wire.NameSet
	list  []store
	ids   []declared // every persistent id, in the order of the pickle
	next  int        // index in ids of the one that a walk most likely needs
	class classSize  // of the last id
	order tensor.Order
	parts int    // number of parts of a persistent id
	dir   string // what the names of the stores of an archive begin with
	// add makes a store for a new key, or refuses it.
	add func(key string) (int, error)
}

// A classSize caches the result for a storage class.
type classSize struct {
	global *vm.Global
	scalar *scalar
}

// A storageRef is a storage as a persistent id names it.
type storageRef struct {
	store  int
	scalar *scalar
}

// A declared is the storage of the persistent id at one offset of the pickle.
type declared struct {
	off  int64
	seen bool // the walk has used it
	storageRef
}

// The parts of a persistent id: ("storage", class, key, location, count), in legacy files
// with one more, which is a view or None. Each loader of torch unpacks its own number of
// parts.
const (
	archiveParts = 5
	legacyParts  = 6
)

// pid is a parsed persistent id.
type pid struct {
	scalar  *scalar
	key     string
	place   string
	count   uint64
	view    vm.Value
	hasView bool
}

func (s *stores) parsePID(id vm.Value) (pid, error) {
	var out pid
	if id.Kind() != vm.KindTuple || id.Len() != s.parts {
		return out, wire.ErrSyntax.WithRule("pth.persistent-id").Errorf("the persistent id is not a tuple of the %d parts of a storage", s.parts)
	}
	if kind := id.At(0); kind.Kind() != vm.KindText || kind.Text() != "storage" {
		return out, wire.ErrInternal.Errorf("persistent id does not begin with \"storage\"")
	}
	class, key, location, count := id.At(1), id.At(2), id.At(3), id.At(4)
	if class.Kind() != vm.KindGlobal || !class.Is(vm.TorchStorage) && !class.Is(vm.TorchUntyped) {
		return out, wire.ErrInternal.Errorf("the persistent id names no storage class")
	}
	if g := class.Global(); g != s.class.global {
		s.class = classSize{g, findStorageClass(g.Name)}
	}
	if out.scalar = s.class.scalar; out.scalar == nil {
		return out, wire.ErrUnsupported.WithRule("pth.storage-class").Errorf("storage class %s", wire.Quote(class.Global().String()))
	}
	if key.Kind() != vm.KindText || location.Kind() != vm.KindText {
		return out, wire.ErrInternal.Errorf("key and location of a storage are not text")
	}
	out.key, out.place = key.Text(), location.Text()
	if err := isLocation(out.place); err != nil {
		return out, err
	}
	n, ok := count.Int()
	if !ok || n < 0 {
		return out, wire.ErrInternal.Errorf("number of elements of storage %s", wire.Quote(out.key))
	}
	out.count = uint64(n)
	if s.parts == legacyParts && id.At(5).Kind() != vm.KindNone {
		out.view, out.hasView = id.At(5), true
	}
	return out, nil
}

// isLocation checks that a location is the name of a device that has storages, with or
// without a number. Tensors on the device "meta" have no bytes: torch would not read
// those in the file.
func isLocation(place string) error {
	switch device, numbered, ok := vm.Device(place); {
	case device == "meta":
		return wire.ErrUnsupported.WithRule("pth.location").Errorf("a storage of the device meta, where torch reads no bytes")
	case !ok, numbered && device == "cpu":
		return wire.ErrUnsupported.WithRule("pth.location").Errorf("location %s of a storage", wire.Quote(place))
	}
	return nil
}

// declare handles one persistent id that the pickle resolves: its storage must exist and
// have exactly the stated length.
func (s *stores) declare(v vm.Value) error {
	p, err := s.parsePID(v.PID())
	if err != nil {
		return fail("storage", v.Off(), err)
	}
	// Writers number storages in the order in which the pickle first names them.
	i := len(s.ids)
	found := i < len(s.list) && s.dir != "" && s.list[i].name[len(s.dir):] == p.key
	if !found {
		i, found = s.keys.Find(p.key)
	}
	if !found {
		i, err = s.add(p.key)
	}
	if err == nil {
		err = s.checkLength(i, &p)
	}
	if err == nil {
		s.list[i].used = true
		if p.hasView {
			i, err = s.view(i, &p)
		}
	}
	if err == nil {
		s.ids, err = limits.Append(s.b, s.ids, declared{off: v.Off(), storageRef: storageRef{i, p.scalar}})
	}
	if err != nil {
		return fail(storageName(p.key), v.Off(), err)
	}
	return nil
}

// ref returns the storage of a declared persistent id. Ids are sorted by offset, since
// the pickle was run in that order.
func (s *stores) ref(v vm.Value) (storageRef, error) {
	off := v.Off()
	i, found := s.next, s.next < len(s.ids) && s.ids[s.next].off == off
	if !found {
		i, found = slices.BinarySearchFunc(s.ids, off, func(d declared, off int64) int { return cmp.Compare(d.off, off) })
	}
	if !found {
		return storageRef{}, fail("storage", off, wire.ErrInternal.Errorf("persistent id was not declared"))
	}
	s.next = i + 1
	s.ids[i].seen = true
	return s.ids[i].storageRef, nil
}

// checkUnused finds a persistent id that the walk did not use: torch loads its storage, but
// the checkpoint has no tensor of it, or it is a key.
func (s *stores) checkUnused() error {
	for i := range s.ids {
		if !s.ids[i].seen {
			return fail(s.list[s.ids[i].store].name, s.ids[i].off, wire.ErrGap.WithRule("pth.storage-unused").Errorf("a storage is referred to outside of any tensor"))
		}
	}
	return nil
}

// checkLength compares the length that an id states with the storage's.
func (s *stores) checkLength(i int, p *pid) error {
	st := &s.list[i]
	bytes, ok := wire.Mul(p.count, p.scalar.size)
	if !ok {
		return wire.ErrOverflow.WithRule("pth.storage-overflow").Errorf("%d elements of %d bytes", p.count, p.scalar.size)
	}
	if st.parent != noParent {
		return wire.ErrMismatch.WithRule("pth.storage-differs").Errorf("a storage and a view have the same key")
	}
	if st.scalar == nil {
		st.scalar, st.place, st.count = p.scalar, p.place, p.count
		if st.span.Off < 0 { // in a legacy file the first reference states the length
			st.span.Len = int64(bytes)
		}
	}
	if uint64(st.span.Len) != bytes {
		return wire.ErrMismatch.WithRule("pth.storage-size").Errorf("%d elements of %d bytes, but the storage has %d bytes", p.count, p.scalar.size, st.span.Len)
	}
	return st.checkAgrees(p)
}

// checkAgrees checks that all references to a storage state the same: some loaders use the
// first, others each. An empty storage may have any type, since torch writes those of
// several tensors once.
func (st *store) checkAgrees(p *pid) error {
	switch {
	case st.scalar != p.scalar && p.count > 0:
		return wire.ErrMismatch.WithRule("pth.storage-differs").Errorf("one storage with two element types, %s and %s", st.scalar.name, p.scalar.name)
	case st.place != p.place:
		return wire.ErrMismatch.WithRule("pth.storage-differs").Errorf("one storage with two locations, %s and %s", wire.Quote(st.place), wire.Quote(p.place))
	}
	return nil
}

// view finds or adds the view (key, offset, count) of storage i.
func (s *stores) view(i int, p *pid) (int, error) {
	var n [2]int64
	v := p.view
	if v.Kind() != vm.KindTuple || v.Len() != 3 || v.At(0).Kind() != vm.KindText {
		return 0, wire.ErrInternal.Errorf("view of a storage")
	}
	for k := range n {
		var ok bool
		if n[k], ok = v.At(k + 1).Int(); !ok || n[k] < 0 {
			return 0, wire.ErrRange.WithRule("pth.storage-view-range").Errorf("view of a storage")
		}
	}
	if end, ok := wire.Add(uint64(n[0]), uint64(n[1])); !ok || end > p.count {
		return 0, wire.ErrRange.WithRule("pth.storage-view-range").Errorf("view of %d elements from %d of a storage of %d", n[1], n[0], p.count)
	}
	from, length := uint64(n[0])*p.scalar.size, int64(uint64(n[1])*p.scalar.size)
	key := v.At(0).Text()
	at, found := s.keys.Find(key)
	if !found {
		var err error
		if at, err = s.add(key); err != nil {
			return 0, err
		}
		w := &s.list[at]
		w.name, w.parent, w.from, w.scalar, w.used = s.list[i].name, int32(i), from, p.scalar, true
		w.span.Len = length
	}
	if w := &s.list[at]; int(w.parent) != i || w.from != from || w.span.Len != length {
		return 0, wire.ErrMismatch.WithRule("pth.storage-differs").Errorf("view %s is described twice, in different ways", wire.Quote(key))
	}
	return at, nil
}

// span returns where the bytes of a storage are.
func (s *stores) span(i int) tensor.Span {
	st := &s.list[i]
	if st.parent == noParent {
		return st.span
	}
	return tensor.Span{Off: s.list[st.parent].span.Off + int64(st.from), Len: st.span.Len}
}

func storageName(key string) string { return "storage " + wire.Quote(key) }

// archiveStores makes the stores of an archive from its records, and no others.
func archiveStores(a *archive) (*stores, error) {
	list, err := limits.Make[store](a.b, len(a.data))
	if err != nil {
		return nil, err
	}
	for k, i := range a.data {
		m := &a.Members[i]
		list[k] = store{name: m.Name[len(a.prefix):], parent: noParent, span: tensor.Span{Off: m.DataOff, Len: m.Size}}
	}
	ids, err := limits.Grow[declared](a.b, nil, len(list)) // nearly always one each
	if err != nil {
		return nil, err
	}
	return &stores{b: a.b, keys: a.keys, list: list, ids: ids, order: a.order, parts: archiveParts, dir: a.dir, add: func(string) (int, error) {
		return 0, wire.ErrMissing.WithRule("pth.storage-missing").Errorf("no record holds it")
	}}, nil
}

// unused returns an error if no persistent id names a record.
func (a *archive) unused(s *stores) error {
	for k := range s.list {
		if !s.list[k].used {
			return a.fail(int(a.data[k]), wire.ErrGap.WithRule("pth.storage-unused").Errorf("record that the pickle does not refer to"))
		}
	}
	return nil
}
