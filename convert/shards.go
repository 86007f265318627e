package convert

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// indexEnding is the suffix of the index of a set of shards, named as in transformers.
const indexEnding = ".safetensors.index.json"

// stem returns the base name of the files: "model" unless the source's library looks for
// another.
func (p *Plan) stem() string {
	if p.o.Alone || namesWeights(p.b, p.m.Configs()) {
		return stems[0].is
	}
	return stem(p.m.Configs(), p.o.Source)
}

// split distributes the outs to files of at most the shard size, in order. A file ends
// where the next tensor would exceed the size, and a larger tensor is a file of its own.
// That is huggingface_hub's rule.
func (p *Plan) split() ([][]int32, error) {
	if p.o.Split != nil {
		return p.splitGGUF()
	}
	var files [][]int32
	var now []int32
	var size int64
	end := func() (err error) {
		if len(now) > 0 {
			files, err = limits.Append(p.b, files, now)
		}
		now, size = nil, 0
		return err
	}
	for i := range p.Outs {
		n := p.Outs[i].Size
		if p.o.Shard > 0 && n > p.o.Shard {
			alone, err := limits.Make[int32](p.b, 1)
			if err != nil {
				return nil, err
			}
			alone[0] = int32(i)
			if files, err = limits.Append(p.b, files, alone); err != nil {
				return nil, err
			}
			continue
		}
		if p.o.Shard > 0 && size+n > p.o.Shard {
			if err := end(); err != nil {
				return nil, err
			}
		}
		var err error
		if now, err = limits.Append(p.b, now, int32(i)); err != nil {
			return nil, err
		}
		size += n
	}
	err := end()
	if len(files) == 0 {
		files = append(files, nil) // there are no tensors
	}
	return files, err
}

// layout asks the sink for the files.
func (p *Plan) layout() error {
	meta, err := p.meta()
	if err != nil {
		return err
	}
	sets, err := p.split()
	if err != nil {
		return err
	}
	if p.Files, err = limits.Make[File](p.b, len(sets)); err != nil {
		return err
	}
	name := p.stem()
	for k, set := range sets {
		keys := meta
		if p.o.Split != nil {
			if keys, err = p.splitMeta(k, len(sets), meta); err != nil {
				return err
			}
		}
		if err := p.place(k, set, keys); err != nil {
			return err
		}
		f := &p.Files[k]
		switch {
		case p.o.Split != nil:
			f.Name = p.splitName(k, len(sets))
		case p.o.Shard <= 0:
		case len(sets) == 1:
			f.Name = name + ".safetensors"
		default:
			f.Name = fmt.Sprintf("%s-%05d-of-%05d.safetensors", name, k+1, len(sets))
		}
		p.Size += f.Size
	}
	return nil
}

// place lays out one file.
func (p *Plan) place(k int, set []int32, meta []Entry) error {
	outs, err := limits.Make[Out](p.b, len(set))
	if err != nil {
		return err
	}
	for i, o := range set {
		outs[i] = p.Outs[o]
	}
	l, err := p.sink.Layout(p.b, outs, meta)
	if err != nil {
		return err
	}
	if p.o.Split != nil {
		l.Size = (l.Size + 31) &^ 31 // no tensor follows the keys
	}
	for i, o := range set {
		p.Outs[o].file, p.Outs[o].off = int32(k), l.Offsets[i]
	}
	p.Files[k] = File{Size: l.Size, outs: set, layout: l}
	return nil
}

// index returns the text of the index of shards, as transformers writes it.
func (p *Plan) index() ([]byte, error) {
	order, err := limits.Make[int32](p.b, len(p.Outs))
	if err != nil {
		return nil, err
	}
	var elements, size int64
	for i := range p.Outs {
		order[i] = int32(i)
		info := tensor.Info{Shape: p.Outs[i].Shape}
		elements += info.Elements()
		size += p.Outs[i].Size
	}
	if count := p.view.Told().Parameters; count != nil {
		if elements, err = count(p.b, p.m); err != nil {
			return nil, err
		}
	}
	if err := limits.SortUnstable(p.b, order, func(a, b int32) int { return strings.Compare(p.Outs[a].Name, p.Outs[b].Name) }); err != nil {
		return nil, err
	}
	w := jsontree.NewText(p.b)
	w.Put("{\n  \"metadata\": {\n    \"total_parameters\": ", strconv.FormatInt(elements, 10),
		",\n    \"total_size\": ", strconv.FormatInt(size, 10), "\n  },\n  \"weight_map\": {")
	for i, o := range order {
		if i > 0 {
			w.Put(",")
		}
		w.Put("\n    ")
		w.Quote(p.Outs[o].Name)
		w.Put(": ")
		w.Quote(p.Files[p.Outs[o].file].Name)
	}
	w.Put("\n  }\n}\n")
	return w.Done()
}
