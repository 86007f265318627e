package merge

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// configName is transformers' description of a model.
const configName = "config.json"

const maxConfig = 16 << 20

// dtypes are the members with the type in which a model is loaded.
var dtypes = []string{"dtype", "torch_dtype"}

// An edit replaces a part of a text.
type edit struct {
	from, to int64
	text     string
}

// config returns config.json of the result if it has other layers or another type than the
// first model, else "".
func (x *merger) config() (string, error) {
	if x.out.Layers == 0 && x.r.out == tensor.Unknown {
		return "", nil
	}
	body, err := jsontree.ReadText(x.b, x.opened[0].Configs(), configName, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	moved, err := x.movedLayers()
	if err != nil {
		return "", err
	}
	var list []edit
	err = strictjson.Decode(x.b, strictjson.Text{Format: configName, Body: body, Whole: true}, func(d *strictjson.Decoder) error {
		return d.Object(func(name string) error {
			s, err := x.member(d, moved, body, name)
			if err == nil && s != nil {
				list, err = limits.Append(x.b, list, *s)
			}
			return err
		})
	})
	if err != nil || len(list) == 0 {
		return "", err
	}
	out, at := strings.Builder{}, int64(0)
	for _, s := range list {
		if err := x.b.Hold(2 * (s.from - at + int64(len(s.text)))); err != nil {
			return "", err
		}
		out.WriteString(body[at:s.from])
		out.WriteString(s.text)
		at = s.to
	}
	if err := x.b.Hold(2 * (int64(len(body)) - at)); err != nil {
		return "", err
	}
	out.WriteString(body[at:])
	return out.String(), nil
}

// member returns the edit of one member, nil if it does not change.
func (x *merger) member(d *strictjson.Decoder, moved *movedLayers, body, name string) (*edit, error) {
	kind, err := d.Kind()
	if err != nil {
		return nil, err
	}
	var parts []edit
	s := &edit{from: d.Off()}
	if kind == strictjson.Array {
		err = d.Array(func(int) error {
			one := edit{from: d.Off()}
			if err := d.Skip(); err != nil {
				return err
			}
			one.to = d.Off()
			var err error
			parts, err = limits.Append(x.b, parts, one)
			return err
		})
	} else {
		err = d.Skip()
	}
	s.to = d.Off()
	switch {
	case err != nil:
		return nil, err
	case x.r.out != tensor.Unknown && slices.Contains(dtypes, name) && kind == strictjson.String:
		for text, t := range types {
			if t == x.r.out {
				s.text = strconv.Quote(text)
			}
		}
		return s, nil
	case moved != nil:
		return moved.member(x.b, s, name, body, parts)
	}
	return nil, nil
}
