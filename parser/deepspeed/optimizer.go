package deepspeed

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// The members of a file of the optimizer that matter here.
const (
	optimizerKey = "optimizer_state_dict"
	stageKey     = "zero_stage"
	countKey     = "partition_count"
	partsKey     = "single_partition_of_fp32_groups" // of stages 1 and 2
	flatKey      = "fp32_flat_groups"                // of stage 3
	expertsKey   = "ds_zero_partition_groups"
)

// fileCost is the memory of an open file.
const fileCost = 512

// placeCost is the memory of an entry of a map or a list besides its text.
const placeCost = 48

// A part is one file, while it is read.
type part struct {
	d     *decoder
	f     *pth.File
	names *wire.NameSet // of its tensors
	root  vm.Value
	file  int32
}

// read opens a file, proves it, and keeps it open. The memory of its pickle is given back.
func (d *decoder) read(name string, each func(*part) error) error {
	h, err := tensor.OpenFile(d.fsys, path.Join(d.dir, name))
	if err != nil {
		return inFile(name, err)
	}
	file := int32(len(d.out.handles))
	if d.out.handles, err = limits.Append(d.b, d.out.handles, h); err != nil {
		h.Close()
		return err
	}
	if d.out.files, err = limits.Append(d.b, d.out.files, path.Join(d.below, name)); err != nil {
		return err
	}
	b := d.b.Probe()
	defer b.Close()
	f, err := pth.Decode(b, h, h.Size)
	if err == nil {
		err = d.readPart(b, &part{d: d, f: f, root: f.Graph().Root(), file: file}, each)
	}
	if err == nil {
		err = d.noted(name, f)
	}
	if err != nil {
		return inFile(name, err)
	}
	return nil
}

// readPart lists the names of the tensors of a file, and reads it.
func (d *decoder) readPart(b *limits.Budget, p *part, each func(*part) error) (err error) {
	if p.names, err = wire.NewNameSet(b, len(p.f.Infos), func(i int) string { return p.f.Infos[i].Name }); err != nil {
		return err
	}
	for i := range p.f.Infos {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if _, _, err := p.names.Add(i); err != nil { // package pth has proven that they differ
			return err
		}
	}
	return each(p)
}

// noted keeps the findings about a file.
func (d *decoder) noted(name string, f *pth.File) error {
	for _, found := range f.Findings() {
		found.Where = strings.TrimSuffix("file "+wire.Quote(name)+", "+found.Where, ", ")
		if err := d.out.Found.Add(d.b, Format, found); err != nil {
			return err
		}
	}
	return nil
}

// member returns a member of a dict, and whether it is there and not None.
func (p *part) member(v vm.Value, key string) (vm.Value, bool, error) {
	if err := p.d.steps.Take(1 + int64(v.Len())); err != nil {
		return vm.Value{}, false, err
	}
	if v.Kind() != vm.KindDict {
		return vm.Value{}, false, nil
	}
	value, ok := v.Lookup(key)
	return value, ok && value.Kind() != vm.KindNone, nil
}

// must returns a member of a dict that has to be there, of one kind.
func (p *part) must(v vm.Value, key string, kind vm.Kind) (vm.Value, error) {
	value, ok, err := p.member(v, key)
	if err == nil && (!ok || value.Kind() != kind) {
		err = fail("", errState.Errorf("no %s %s", kind, wire.Quote(key)))
	}
	return value, err
}

// stored returns a tensor that the file has as it is, by its name in package pth.
func (p *part) stored(name string) (tensor.Info, error) {
	i, ok := p.find(name)
	if !ok {
		return i, fail(whereOf(name), errState.Errorf("no tensor"))
	}
	_, whole := p.f.At(i)
	g, known := i.DType.Geometry()
	if !whole || !known || g.Elems != 1 || i.Strides != nil || i.Order != tensor.Little {
		return i, fail(whereOf(name), errForm.Errorf("a tensor of type %s that is not stored row-major, element by element, little-endian", wire.Quote(i.Stored)))
	}
	return i, nil
}

// find returns a tensor by its name.
func (p *part) find(name string) (tensor.Info, bool) {
	if i, ok := p.names.Find(name); ok {
		return p.f.Infos[i], true
	}
	return tensor.Info{}, false
}

// optimizers reads the files of the optimizer, by process.
func (d *decoder) optimizers() error {
	for rank, name := range d.optim {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if err := d.read(name, func(p *part) error { return p.optimizer(rank) }); err != nil {
			return err
		}
	}
	return d.says("zero_stage", d.zero, "partition_count", int64(len(d.optim)))
}

// says keeps statements of the checkpoint.
func (d *decoder) says(pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		if err := d.hold(placeCost); err != nil {
			return err
		}
		d.out.meta = append(d.out.meta, entry{pairs[i].(string), pairs[i+1]})
	}
	return nil
}

// optimizer reads the file of one process.
func (p *part) optimizer(rank int) error {
	d := p.d
	state, err := p.must(p.root, optimizerKey, vm.KindDict)
	if err != nil {
		return err
	}
	if _, experts, err := p.member(state, expertsKey); err != nil || experts {
		return cmp.Or(err, fail("", errForm.Errorf("weights that groups of processes have parts of: experts")))
	}
	zero, err := p.zeroStage(state)
	if err != nil {
		return err
	}
	count, err := p.processes(state)
	switch {
	case err != nil:
		return err
	case count != int64(len(d.optim)):
		return fail("", errCount.Errorf("of %d processes, and there are files of %d", count, len(d.optim)))
	case rank > 0 && zero != d.zero:
		return fail("", errAltered.Errorf("of stage %d, and the first process is of stage %d", zero, d.zero))
	}
	d.zero = zero
	if err := p.sameStep(rank); err != nil {
		return err
	}
	key := partsKey
	if zero == 3 {
		key = flatKey
	}
	groups, err := p.must(state, key, vm.KindList)
	if err != nil {
		return err
	}
	if rank > 0 && groups.Len() != d.groupCount() {
		return fail("", errGroup.Errorf("%d groups, and the first process has %d", groups.Len(), d.groupCount()))
	}
	return p.readGroups(key, groups.Len(), rank)
}

// groupCount is how many groups the first process has.
func (d *decoder) groupCount() int {
	if d.zero == 3 {
		return len(d.sizes)
	}
	return len(d.groups)
}

// zeroStage reads the stage, a number or a member of DeepSpeed's enumeration, which package vm has
// proven.
func (p *part) zeroStage(state vm.Value) (int64, error) {
	v, ok, err := p.member(state, stageKey)
	if err != nil {
		return 0, err
	}
	if ok && v.Kind() == vm.KindObject && v.Args().Len() == 1 {
		v = v.Args().At(0)
	}
	if ok && v.Kind() == vm.KindInt {
		if n, whole := v.Int(); whole && 1 <= n && n <= 3 {
			return n, nil
		}
	}
	return 0, fail("", errStage.Errorf("no state of ZeRO's stages 1 to 3"))
}

// processes reads how many there are: the largest number, if groups have their own.
func (p *part) processes(state vm.Value) (int64, error) {
	v, ok, err := p.member(state, countKey)
	if err != nil {
		return 0, err
	}
	most := int64(0)
	if ok && v.Kind() == vm.KindList {
		for one := range v.Elems() {
			if err := p.d.steps.Step(); err != nil {
				return 0, err
			}
			n, _ := one.Int()
			most = max(most, n)
		}
		for one := range v.Elems() {
			if n, _ := one.Int(); n != most {
				return 0, fail("", errForm.Errorf("groups of weights that different numbers of processes share: experts"))
			}
		}
		return most, p.d.steps.Take(1 + int64(v.Len()))
	}
	if ok && v.Kind() == vm.KindInt {
		most, _ = v.Int()
	}
	return most, nil
}

// sameStep proves that a process is at the step of the first one, if its optimizer counts them.
func (p *part) sameStep(rank int) error {
	text, err := p.stepOf()
	if err != nil {
		return err
	}
	if rank == 0 {
		p.d.state = text
	} else if text != p.d.state {
		return fail("", errStep.Errorf("its optimizer is at step %s, and the one of the first process at %s", wire.Quote(text), wire.Quote(p.d.state)))
	}
	return nil
}

// stepOf returns the first step that the state of the optimizer states, a number or a tensor of one
// float32, as text; "" for none.
func (p *part) stepOf() (string, error) {
	for key, value := range p.f.Meta() {
		if err := p.d.steps.Step(); err != nil {
			return "", err
		}
		switch value.(type) {
		case int64, float64:
			if isStep(key) {
				return fmt.Sprint(value), nil
			}
		}
	}
	for _, i := range p.f.Infos {
		if err := p.d.steps.Step(); err != nil {
			return "", err
		}
		if r, ok := p.f.At(i); ok && isStep(i.Name) && i.DType == tensor.F32 && i.Span.Len == 4 {
			var bits [4]byte
			err := wire.ReadFull(r, bits[:], 0)
			return fmt.Sprint(widenings[tensor.F32](bits[:])), err
		}
	}
	return "", nil
}

// isStep reports whether a name is that of a count of steps in the state of an optimizer.
func isStep(name string) bool {
	return strings.HasPrefix(name, optimizerKey+".") && strings.HasSuffix(name, ".step")
}

// readGroups adds the pieces of one process.
func (p *part) readGroups(key string, n, rank int) error {
	d := p.d
	if rank == 0 {
		if err := d.makeGroups(n); err != nil {
			return err
		}
	}
	if err := d.steps.Take(1 + int64(n)); err != nil {
		return err
	}
	own := vector(nil)
	for g := range n {
		i, err := p.stored(fmt.Sprintf("%s.%s.%d", optimizerKey, key, g))
		if err != nil {
			return err
		}
		if i.DType != tensor.F32 || len(i.Shape) != 1 {
			return fail(whereOf(i.Name), errForm.Errorf("a part of weights of type %s and shape %v, not a row of float32", wire.Quote(i.Stored), i.Shape))
		}
		if d.zero < 3 {
			d.groups[g], err = d.join(d.groups[g], i, p.file)
		} else if rank == 0 {
			d.sizes[g] = i.Shape[0]
		} else if i.Shape[0] != d.sizes[g] {
			err = fail(whereOf(i.Name), errGroup.Errorf("%d elements, and the first process has %d", i.Shape[0], d.sizes[g]))
		}
		if d.zero == 3 && err == nil {
			own, err = d.join(own, i, p.file)
		}
		if err != nil {
			return err
		}
	}
	if d.zero == 3 {
		var err error
		d.groups, err = limits.Append(d.b, d.groups, own)
		return err
	}
	return nil
}

// makeGroups makes room for the groups of the first process.
func (d *decoder) makeGroups(n int) (err error) {
	if d.zero == 3 {
		d.sizes, err = limits.Make[int64](d.b, n)
		return err
	}
	d.groups, err = limits.Make[vector](d.b, n)
	return err
}

// join lays a tensor at the end of a vector.
func (d *decoder) join(v vector, i tensor.Info, file int32) (vector, error) {
	return limits.Append(d.b, v, piece{i.Span.Off, wire.AddCap(v.len(), i.Elements()), file})
}
