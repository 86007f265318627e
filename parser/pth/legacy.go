package pth

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// The content of the first pickles of a legacy file, from torch/serialization.py.
const (
	legacyMagic    = "119547037146038801333356" // 0x1950a86a20f9469cfc6c
	legacyProtocol = 1001
)

// legacyPickles are the names of the pickles in messages.
var legacyPickles = [...]string{"pickle 1 (magic)", "pickle 2 (protocol)", "pickle 3 (system)", "pickle 4 (checkpoint)", "pickle 5 (keys)"}

// lastPreamble is the last pickle before the checkpoint.
const lastPreamble = 2

// A legacy file is five pickles (magic, protocol, system, checkpoint, keys), and for each
// key a count and the bytes of a storage.
//
// Storages are little-endian on every machine. So are the counts, except that PyTorch
// before 1.0 wrote them in the byte order of its machine.
type legacy struct {
	names     []string // keys, in the order of the stores
	bigCounts bool     // counts may be big-endian
}

// openLegacy reads the three pickles before the checkpoint.
func (d *decoder) openLegacy() error {
	l := &legacy{}
	keys, err := wire.NewNameSet(d.b, 0, func(i int) string { return l.names[i] })
	if err != nil {
		return err
	}
	for i, name := range legacyPickles[:lastPreamble+1] {
		g, err := d.constantPickle(name)
		if err != nil {
			return err
		}
		if !d.seenForbidden() {
			if err := l.preamble(i, g.Root()); err != nil {
				return fail(name, d.begin, err)
			}
		}
		d.begin = g.End()
		d.dropGraph(g)
	}
	d.legacy = l
	d.st = &stores{b: d.b, keys: keys, parts: legacyParts}
	d.st.add = func(key string) (int, error) { return l.add(d.st, key) }
	d.out.layout = Legacy
	d.stage = stGraph
	return nil
}

// constantPickle reads a pickle that is a plain constant, without globals and storages.
// Computing the magic number by a call has been used to deceive scanners.
func (d *decoder) constantPickle(name string) (*vm.Graph, error) {
	g, err := d.next(name)
	if err != nil || d.seenForbidden() {
		return g, err
	}
	for v := range g.Persistents() {
		d.refusedByTorch(v, "a persistent id outside of the checkpoint")
		return nil, fail(name, v.Off(), wire.ErrSyntax.WithRule("pth.constants").Errorf("persistent id in a pickle of constants"))
	}
	if list := g.Globals(); len(list) > 0 {
		return nil, fail(name, list[0].Off, wire.ErrSyntax.WithRule("pth.constants").Errorf("global %s in a pickle of constants", wire.Quote(list[0].String())))
	}
	return g, nil
}

// refusedByTorch notes, once per pickle, why PyTorch's loaders refuse a persistent id.
func (d *decoder) refusedByTorch(id vm.Value, why string) {
	if d.scan == nil {
		return
	}
	v := &d.scan.Pickles[len(d.scan.Pickles)-1].Report.WeightsOnly
	if n := len(v.Reasons); n > 0 && v.Reasons[n-1].Text == why {
		return
	}
	v.OK, v.Unsure = false, false
	v.Reasons = append(v.Reasons, vm.Reason{Code: "persistent", Off: id.Off(), Text: why})
}

// dropGraph frees a graph that is no longer referenced.
func (d *decoder) dropGraph(g *vm.Graph) {
	if d.scan == nil {
		g.Release()
	}
}

func (l *legacy) preamble(i int, root vm.Value) error {
	switch i {
	case 0:
		if root.Kind() != vm.KindInt || root.Big().String() != legacyMagic {
			return wire.ErrMagic.WithRule("pth.legacy-magic").Errorf("not the number that torch.save writes first")
		}
	case 1:
		if n, ok := root.Int(); root.Kind() != vm.KindInt || !ok || n != legacyProtocol {
			return wire.ErrUnsupported.WithRule("pth.legacy-protocol").Errorf("protocol of the file is not %d", legacyProtocol)
		}
	default:
		little, ok := root.Lookup("little_endian")
		if root.Kind() != vm.KindDict || !ok || little.Kind() != vm.KindBool {
			return wire.ErrSyntax.WithRule("pth.constants").Errorf("the system record has no little_endian")
		}
		l.bigCounts = !little.Bool()
	}
	return nil
}

// add makes the store of a key when a persistent id first names it.
func (l *legacy) add(s *stores, key string) (int, error) {
	names, err := limits.Append(s.b, l.names, key)
	if err != nil {
		return 0, err
	}
	l.names = names
	if err := s.b.Alloc(int64(len(inLegacy) + len(key))); err != nil {
		return 0, err
	}
	st := store{name: inLegacy + key, parent: noParent}
	st.span.Off = -1
	list, err := limits.Append(s.b, s.list, st)
	if err != nil {
		return 0, err
	}
	s.list = list
	i := len(list) - 1
	_, _, err = s.keys.Add(i)
	return i, err
}

// keys reads the fifth pickle and finds the storages, which end the file.
func (d *decoder) keys() error {
	name := legacyPickles[4]
	g, err := d.constantPickle(name)
	if err != nil {
		return err
	}
	root := g.Root()
	if root.Kind() != vm.KindList {
		return fail(name, d.begin, wire.ErrSyntax.WithRule("pth.legacy-keys").Errorf("the keys are not a list"))
	}
	at := g.End()
	for i := range root.Len() {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if at, err = d.storage(root.At(i), at, d.begin); err != nil {
			return err
		}
	}
	for i := range d.st.list {
		if st := &d.st.list[i]; st.parent == noParent && st.span.Off < 0 {
			return fail(storageName(d.legacy.names[i]), d.begin, wire.ErrMissing.WithRule("pth.legacy-key-missing").Errorf("the pickle refers to it, but the list of keys does not"))
		}
	}
	if at != d.size {
		return fail("", at, wire.ErrTrailing.WithRule("pth.data-trailing").Errorf("%d bytes after the last storage", d.size-at))
	}
	d.dropGraph(g)
	d.stage = stRecords
	return nil
}

// storage places the storage of one key at offset at and returns its end.
func (d *decoder) storage(key vm.Value, at, pickle int64) (int64, error) {
	if key.Kind() != vm.KindText {
		return 0, fail(legacyPickles[4], pickle, wire.ErrSyntax.WithRule("pth.legacy-keys").Errorf("key is a %v", key.Kind()))
	}
	where := storageName(key.Text())
	i, found := d.st.keys.Find(key.Text())
	if !found || d.st.list[i].parent != noParent {
		return 0, fail(where, pickle, wire.ErrGap.WithRule("pth.storage-unused").Errorf("a storage that the checkpoint does not refer to"))
	}
	st := &d.st.list[i]
	if st.span.Off >= 0 {
		return 0, fail(where, pickle, wire.ErrDuplicate.WithRule("pth.legacy-key-twice").Errorf("key"))
	}
	var count [8]byte
	if d.size-at < int64(len(count)) {
		return 0, fail(where, d.size, wire.ErrTruncated.Errorf("%d bytes left for the length of a storage", d.size-at))
	}
	if err := wire.ReadFull(d.r, count[:], at); err != nil {
		return 0, fail(where, at, err)
	}
	n := binary.LittleEndian.Uint64(count[:])
	if n != st.count && !(d.legacy.bigCounts && binary.BigEndian.Uint64(count[:]) == st.count) {
		return 0, fail(where, at, wire.ErrMismatch.WithRule("pth.storage-count-differs").Errorf("storage of %d elements, but the checkpoint states %d", n, st.count))
	}
	st.span.Off = at + int64(len(count))
	if left := d.size - st.span.Off; st.span.Len > left {
		return 0, fail(where, d.size, wire.ErrTruncated.Errorf("storage of %d bytes, %d left", st.span.Len, left))
	}
	return st.span.End(), nil
}
