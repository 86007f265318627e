package convert

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// tie leaves out tensors that have the same bytes as another one, if the configuration
// ties them. As safetensors.torch.save_model does, it keeps the first name in
// alphabetical order, and adds an entry to the metadata for each name left out. Without
// such a configuration each name is written.
func (p *Plan) tie(picks []pick) ([]pick, error) {
	if p.sink.Name() != safetensors.Format {
		return picks, nil
	}
	if tied, err := p.ties(); !tied || err != nil {
		return picks, err
	}
	order, err := limits.Make[int32](p.b, len(picks))
	if err != nil {
		return nil, err
	}
	order = order[:0]
	for i := range picks {
		if picks[i].weight == nil && picks[i].plain.Storage != "" {
			order = append(order, int32(i))
		}
	}
	if err := limits.SortUnstable(p.b, order, func(a, b int32) int { return cmp.Or(byView(&picks[a].plain, &picks[b].plain), cmp.Compare(a, b)) }); err != nil {
		return nil, err
	}
	for at := 0; at < len(order); {
		keep := &picks[order[at]].plain
		for at++; at < len(order); at++ {
			other := &picks[order[at]]
			if !sameView(keep, &other.plain) {
				break
			}
			if p.aliases, err = limits.Append(p.b, p.aliases, Entry{Key: other.plain.Name, Value: keep.Name}); err != nil {
				return nil, err
			}
			other.at = -1
		}
	}
	return slices.DeleteFunc(picks, func(k pick) bool { return k.at < 0 }), nil
}

// byView orders tensors by their bytes, then by name.
func byView(a, b *tensor.Info) int {
	return cmp.Or(cmp.Compare(a.Part, b.Part), strings.Compare(a.Storage, b.Storage), cmp.Compare(a.Span.Off, b.Span.Off),
		cmp.Compare(a.Span.Len, b.Span.Len), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.DType, b.DType),
		slices.Compare(a.Shape, b.Shape), slices.Compare(a.Strides, b.Strides), strings.Compare(a.Name, b.Name))
}

// sameView reports whether tensors differ only in their names.
func sameView(a, b *tensor.Info) bool {
	x := *b
	x.Name = a.Name
	return byView(a, &x) == 0
}

// ties reports whether the configuration ties embeddings.
func (p *Plan) ties() (tied bool, err error) {
	body, err := encode.ReadText(p.b, p.m.Configs(), encode.ConfigName, encode.MaxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = strictjson.Decode(p.b, strictjson.Text{Format: encode.ConfigName, Body: body, Whole: true}, func(d *strictjson.Decoder) error {
		return d.Object(func(name string) error {
			kind, err := d.Kind()
			if err == nil && kind == strictjson.Bool && name == "tie_word_embeddings" {
				tied, err = d.Bool()
			}
			return err
		})
	})
	return tied, err
}
