package dcp

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/grid"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// An item is an entry of .metadata: a tensor of one or more parts, or another value.
type item struct {
	name   string
	stored string // the type of a tensor: "torch.float32"
	shape  []int64
	count  int64 // elements
	chunks []chunk
	empty  []chunk    // parts without elements
	grid   *grid.Grid // of a tensor of several parts
	at     int64
	value  *pth.File // of another value, once its part is read
}

// A chunk is a part of a tensor.
type chunk struct {
	grid.Part

	info tensor.Info // as the part has it; Span counts from the beginning of the file
	file int32
}

// readEntries lists the tensors and values, and which place each part has.
func (d *decoder) readEntries() error {
	paths := d.root.of("planner_data")
	entries := d.root.of("state_dict_metadata")
	known, err := d.pathsOf(paths)
	if err != nil {
		return err
	}
	for key, value := range entries.Entries() {
		if err := d.steps.Step(); err != nil {
			return err
		}
		name, err := limits.String(d.b, []byte(key.Text()))
		if err != nil {
			return d.fail("", key.Off(), err)
		}
		if err := d.entry(item{name: name, at: value.Off()}, value, known); err != nil {
			return d.fail(whereOf(name), value.Off(), err)
		}
	}
	for i := range d.places {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if p := &d.places[i]; p.item == none {
			return d.fail("", p.at, errUnused.Errorf("%d bytes at offset %d of %s are part of nothing", p.length, p.off, wire.Quote(d.out.files[p.file])))
		}
	}
	return nil
}

// pathsOf lists the paths in the state dict that .metadata states, by name.
func (d *decoder) pathsOf(paths vm.Value) (map[string]vm.Value, error) {
	known := map[string]vm.Value{}
	if paths.Kind() != vm.KindDict {
		return known, nil
	}
	if err := d.b.Hold(placeCost * int64(paths.Len())); err != nil {
		return nil, d.fail("", wire.NoOffset, err)
	}
	for key, value := range paths.Entries() {
		if err := d.steps.Take(1 + int64(value.Len())); err != nil {
			return nil, err
		}
		known[key.Text()] = value
	}
	return known, nil
}

func (d *decoder) entry(it item, value vm.Value, known map[string]vm.Value) error {
	if path, ok := known[it.name]; ok {
		if err := d.samePath(it.name, path); err != nil {
			return err
		}
	}
	if err := d.b.Items(1); err != nil {
		return err
	}
	var err error
	if isClass(value, "BytesStorageMetadata") {
		d.key = keyOf(d.key[:0], it.name, nil, false)
		err = d.claim(none)
	} else {
		err = d.tensorEntry(&it, value)
	}
	if err != nil {
		return err
	}
	d.items, err = limits.Append(d.b, d.items, it)
	return err
}

// samePath proves that the path of a value in the state dict, where the library puts it, is its name.
func (d *decoder) samePath(name string, path vm.Value) error {
	d.key = d.key[:0]
	for i := range path.Len() {
		if i > 0 {
			d.key = append(d.key, '.')
		}
		step := path.At(i)
		if n, ok := step.Int(); ok && step.Kind() == vm.KindInt {
			d.key = strconv.AppendInt(d.key, n, 10)
		} else {
			d.key = append(d.key, step.Text()...)
		}
		if len(d.key) > len(name) {
			break
		}
	}
	if string(d.key) != name {
		return errPath.Errorf("the library puts it at %s", wire.Quote(string(d.key)))
	}
	return nil
}

// claim gives the place with the last key to the item that is next.
func (d *decoder) claim(chunk int32) error {
	i, ok := d.byKey[string(d.key)]
	if !ok {
		return errNoPlace.Errorf("nothing says where it is stored, or a part of it")
	}
	p := &d.places[i]
	if p.item != none {
		return errShared.Errorf("two parts are stored at one place")
	}
	p.item, p.chunk = int32(len(d.items)), chunk
	return nil
}

func (d *decoder) tensorEntry(it *item, value vm.Value) error {
	has, err := d.fieldsOf(value)
	if err != nil {
		return err
	}
	properties, ok := has.of("properties").State()
	if !ok {
		return errState.Errorf("its properties have no state, which says its type")
	}
	if layout := properties.At(1).Args(); layout.Len() != 1 || layout.At(0).Text() != "torch.strided" {
		return errForm.Errorf("a tensor that is not strided")
	}
	if it.stored, err = limits.String(d.b, []byte(properties.At(0).Global().String())); err != nil {
		return err
	}
	if it.shape, err = d.ints(has.of("size")); err != nil {
		return err
	}
	count, ok := wire.Product(it.shape)
	if !ok {
		return wire.ErrOverflow.WithRule("dcp.shape-overflow").Errorf("shape %v", it.shape)
	}
	it.count = int64(count)
	for v := range has.of("chunks").Elems() {
		if err := d.chunkEntry(it, v); err != nil {
			return err
		}
	}
	if it.count > 0 {
		it.grid, err = grid.New(d.b, it.shape, len(it.chunks), func(i int) *grid.Part { return &it.chunks[i].Part }, grid.Causes{Gap: errGap, Overlap: errOverlap})
	}
	return err
}

// chunkEntry adds a part, which must be inside of its tensor.
func (d *decoder) chunkEntry(it *item, v vm.Value) error {
	if err := d.steps.Step(); err != nil {
		return err
	}
	has, err := d.fieldsOf(v)
	if err != nil {
		return err
	}
	var c chunk
	if c.Offsets, err = d.ints(has.of("offsets")); err != nil {
		return err
	}
	if c.Sizes, err = d.ints(has.of("sizes")); err != nil {
		return err
	}
	if len(c.Offsets) != len(it.shape) || len(c.Sizes) != len(it.shape) {
		return errOutside.Errorf("a part of %d dimensions at an offset of %d, of a tensor of %d", len(c.Sizes), len(c.Offsets), len(it.shape))
	}
	for k, n := range it.shape {
		if c.Sizes[k] > n || c.Offsets[k] > n-c.Sizes[k] {
			return errOutside.Errorf("a part of %d indices from %d on in dimension %d, which has %d", c.Sizes[k], c.Offsets[k], k, n)
		}
	}
	d.key = keyOf(d.key[:0], it.name, c.Offsets, true)
	if n, _ := wire.Product(c.Sizes); n == 0 {
		return d.emptyPart(it, c)
	}
	if err := d.claim(int32(len(it.chunks))); err != nil {
		return err
	}
	it.chunks, err = limits.Append(d.b, it.chunks, c)
	return err
}

// emptyPart notes a part without elements. Several may be at one place, since they begin at one
// offset.
func (d *decoder) emptyPart(it *item, c chunk) error {
	if i, ok := d.byKey[string(d.key)]; ok && int(d.places[i].item) == len(d.items) && d.places[i].chunk < none {
		return nil
	}
	if err := d.claim(none - 1 - int32(len(it.empty))); err != nil {
		return err
	}
	var err error
	it.empty, err = limits.Append(d.b, it.empty, c)
	return err
}
