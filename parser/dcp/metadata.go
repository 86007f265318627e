package dcp

import (
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/grid"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// module has the classes of the library that hold what a checkpoint says of itself. Package vm has
// proven their states.
const module = "torch.distributed.checkpoint.metadata"

// metadata runs the pickle, and finds the members of its root.
func (d *decoder) metadata() error {
	h, err := tensor.OpenFile(d.fsys, path.Join(d.dir, d.name))
	if err != nil {
		return err
	}
	defer h.Close()
	d.size = h.Size
	if err := d.b.Source(h.Size); err != nil {
		return d.fail("", 0, err)
	}
	if d.graph, err = vm.Load(d.b, h, 0, h.Size); err != nil {
		return err
	}
	if rest := h.Size - d.graph.End(); rest > 0 {
		return d.fail("", d.graph.End(), wire.ErrTrailing.WithRule("dcp.pickle-trailing").Errorf("%d bytes after the pickle", rest))
	}
	root := d.graph.Root()
	if !isClass(root, "Metadata") {
		return d.fail("", 0, errRoot.Errorf("the pickle is a %s, not a Metadata of torch.distributed.checkpoint", wire.Text(root.String(), wire.MaxQuoted)))
	}
	d.root, err = d.fieldsOf(root)
	return err
}

// fields is the state of an instance: a dict of a few fields, which package vm has proven to be
// those of its class.
type fields struct{ state vm.Value }

// of returns a field that every instance of the class has.
func (f fields) of(name string) vm.Value {
	v, _ := f.find(name)
	return v
}

// find returns a field that an instance may lack.
func (f fields) find(name string) (vm.Value, bool) {
	for key, value := range f.state.Entries() {
		if key.Text() == name {
			return value, true
		}
	}
	return vm.Value{}, false
}

// maxFields is more than any class of the library has.
const maxFields = 8

// fieldsOf returns the fields of an instance.
func (d *decoder) fieldsOf(v vm.Value) (fields, error) {
	state, ok := v.State()
	if !ok || state.Len() > maxFields {
		return fields{}, d.fail(v.Global().Name, v.Off(), errState.Errorf("an instance without the state that says what it holds"))
	}
	return fields{state}, d.steps.Take(int64(state.Len()))
}

// isClass reports whether a value is an instance of a class of the library.
func isClass(v vm.Value, name string) bool {
	if v.Kind() != vm.KindObject {
		return false
	}
	g := v.Global()
	return g != nil && g.Module == module && g.Name == name
}

// readPlaces lists where the parts are, and the files.
func (d *decoder) readPlaces() error {
	for key, value := range d.root.of("storage_data").Entries() {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if err := d.readPlace(key, value); err != nil {
			return err
		}
	}
	return nil
}

// placeCost is the memory of an entry of a map besides its key.
const placeCost = 48

func (d *decoder) readPlace(key, value vm.Value) error {
	index, err := d.fieldsOf(key)
	if err != nil {
		return err
	}
	info, err := d.fieldsOf(value)
	if err != nil {
		return err
	}
	name, where, at := index.of("fqn").Text(), whereOf(index.of("fqn").Text()), value.Off()
	if list, ok := info.find("transform_descriptors"); ok && list.Len() > 0 {
		return d.fail(where, at, errTransform.Errorf("its bytes went through %s when they were written", wire.Quote(list.At(0).Text())))
	}
	p := place{at: at, item: none, chunk: none}
	p.off, _ = info.of("offset").Int() // of 64 bits, as package vm has proven
	p.length, _ = info.of("length").Int()
	if p.off < 0 || p.length <= 0 {
		return d.fail(where, at, errPlace.Errorf("%d bytes at offset %d", p.length, p.off))
	}
	if p.file, err = d.file(info.of("relative_path").Text()); err != nil {
		return d.fail(where, at, err)
	}
	var offsets []int64
	offset, partial := index.find("offset")
	if partial = partial && offset.Kind() != vm.KindNone; partial {
		if offsets, err = d.ints(offset); err != nil {
			return d.fail(where, at, err)
		}
	}
	d.key = keyOf(d.key[:0], name, offsets, partial)
	if p.key, err = limits.String(d.b, d.key); err != nil {
		return d.fail(where, at, err)
	}
	if err := d.hold(placeCost); err != nil {
		return d.fail(where, at, err)
	}
	d.byKey[p.key] = int32(len(d.places)) // package vm proves that keys differ
	d.places, err = limits.Append(d.b, d.places, p)
	return d.fail(where, at, err)
}

// hold charges an entry of a map or a list.
func (d *decoder) hold(n int64) error {
	if err := d.b.Items(1); err != nil {
		return err
	}
	return d.b.Hold(n)
}

// keyOf appends what tells the parts of a checkpoint apart: the name, and where the part begins in its
// tensor. Names are last, so that none can look like a place.
func keyOf(out []byte, name string, offsets []int64, partial bool) []byte {
	if partial {
		for _, n := range offsets {
			out = append(strconv.AppendInt(out, n, 10), ',')
		}
		out = append(out, '@')
	}
	return append(append(out, ' '), name...)
}

// file returns the position of a file in the list, and adds it if it is new.
func (d *decoder) file(name string) (int32, error) {
	if i, ok := d.fileOf[name]; ok {
		return i, nil
	}
	if !fs.ValidPath(name) || strings.ContainsAny(name, "/\\\x00") || !IsShard(name) {
		return 0, errFile.Errorf("its file %s is not a name that ends in %s, in the folder of the checkpoint", wire.Quote(name), Suffix)
	}
	if len(d.out.files) == tensor.MaxShards {
		return 0, wire.ErrUnsupported.WithRule("dcp.many-files").Errorf("more than %d files", tensor.MaxShards)
	}
	own, err := limits.String(d.b, []byte(name))
	if err != nil {
		return 0, err
	}
	if err := d.hold(placeCost); err != nil {
		return 0, err
	}
	i := int32(len(d.out.files))
	d.fileOf[own] = i
	d.out.files, err = limits.Append(d.b, d.out.files, own)
	return i, err
}

// ints returns the numbers of a torch.Size.
func (d *decoder) ints(v vm.Value) ([]int64, error) {
	n, _ := v.Dims()
	if n > maxDims {
		return nil, errShape.Errorf("%d dimensions, more than %d", n, maxDims)
	}
	list, err := limits.Make[int64](d.b, n)
	if err != nil {
		return nil, err
	}
	list, ok := v.Ints(list[:0])
	if !ok || len(list) != n {
		return nil, wire.ErrInternal.Errorf("a size that is not a list of numbers of 64 bits")
	}
	for _, x := range list {
		if x < 0 {
			return nil, errShape.Errorf("a size or an offset of %d", x)
		}
	}
	return list, d.steps.Take(int64(n))
}

// maxDims bounds the rank of a tensor: torch's kernels take no more.
const maxDims = grid.MaxDims

func whereOf(name string) string { return "tensor " + wire.Quote(name) }
