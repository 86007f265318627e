package convert

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// quantMembers are the members of a configuration that describe quantization.
var quantMembers = []string{"quantization_config", "compression_config", "quantization"}

// dtypeMembers are the members with the type of a model. The second is the former name of
// the first.
var dtypeMembers = []string{"dtype", "torch_dtype"}

// config returns the decoded model's config.json: without quantization, with the type
// set. It is nil if there is no config.json.
func (p *Plan) config() ([]byte, error) {
	body, err := encode.ReadText(p.b, p.m.Configs(), encode.ConfigName, encode.MaxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w := jsontree.NewText(p.b)
	e := configEditor{w: w, body: body}
	if len(p.Weights) > 0 && p.o.CastTo == tensor.Unknown { // torch computes in no other type
		e.dtype = encode.TorchNames[p.o.Quant.Target]
	}
	if p.encoder != nil {
		if e.quantization, err = p.encoder.Config(); err != nil {
			return nil, err
		}
		e.under = quantMembers[:1]
		if own, ok := p.encoder.(interface{ Members() []string }); ok {
			e.under = own.Members()
		}
	}
	if says := p.view.Told().Quantization; says != nil {
		e.quantization, err = says(p.b)
		if e.under = quantMembers[:1]; err != nil {
			return nil, err
		}
	}
	doc := strictjson.Text{Format: encode.ConfigName, Body: body, Whole: true}
	if err := strictjson.Decode(p.b, doc, func(d *strictjson.Decoder) error { return e.object(d, "  ", true) }); err != nil {
		return nil, err
	}
	w.Put("\n")
	return w.Done()
}

// weightsMember names the weights for transformers. The output needs no such member,
// because it has the default names.
const weightsMember = "transformers_weights"

// namesWeights reports whether config.json has that member. A malformed one counts as not
// having it.
func namesWeights(b *limits.Budget, files fs.FS) (found bool) {
	body, err := encode.ReadText(b, files, encode.ConfigName, encode.MaxConfig)
	if err != nil {
		return false
	}
	doc := strictjson.Text{Format: encode.ConfigName, Body: body, Whole: true}
	err = strictjson.Decode(b, doc, func(d *strictjson.Decoder) error {
		return d.Object(func(name string) error {
			found = found || name == weightsMember
			return d.Skip()
		})
	})
	return found && err == nil
}

// A configEditor copies an object member by member, except for those that decoding
// changes.
type configEditor struct {
	w            *jsontree.Text
	body         string
	dtype        string // "" to leave it unchanged
	quantization []byte // to be added
	under        []string
}

// object copies one object; indent is that of its members.
func (e *configEditor) object(d *strictjson.Decoder, indent string, top bool) error {
	e.w.Put("{")
	first, typed := true, false
	member := func(name string) {
		if !first {
			e.w.Put(",")
		}
		first = false
		e.w.Put("\n", indent)
		e.w.Quote(name)
		e.w.Put(": ")
	}
	err := d.Object(func(name string) error {
		kind, err := d.Kind()
		if err != nil {
			return err
		}
		typed = typed || top && name == "_class_name" // diffusers stores no type there
		switch {
		case slices.Contains(quantMembers, name) && kind == strictjson.Object, top && name == weightsMember:
			return d.Skip()
		case e.dtype != "" && slices.Contains(dtypeMembers, name) && (kind == strictjson.String || kind == strictjson.Null):
			typed = true
			member(name)
			e.w.Quote(e.dtype)
			return d.Skip()
		case top && kind == strictjson.Object:
			member(name)
			return e.object(d, indent+"  ", false)
		}
		member(name)
		from := d.Off()
		if err := d.Skip(); err != nil {
			return err
		}
		e.w.Put(e.body[from:d.Off()])
		return e.w.Err()
	})
	if err != nil {
		return err
	}
	if top && e.quantization != nil {
		for _, name := range e.under {
			member(name)
			e.w.Put(strings.ReplaceAll(string(e.quantization), "\n", "\n"+indent))
		}
	}
	if top && !typed && e.dtype != "" {
		member(dtypeMembers[1]) // read by every version
		e.w.Quote(e.dtype)
	}
	if !first {
		e.w.Put("\n", indent[2:])
	}
	e.w.Put("}")
	return e.w.Err()
}

// QuantizationConfig returns the quantization_config for the config.json of the output
// folder; nil if nothing is quantized.
func (p *Plan) QuantizationConfig() ([]byte, error) {
	if p.encoder == nil {
		return nil, nil
	}
	return p.encoder.Config()
}
