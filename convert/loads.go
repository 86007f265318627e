package convert

import (
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// archKey is the key of a GGUF file that says how llama.cpp builds the model.
const archKey = "general.architecture"

// loadings says which libraries load what is quantized, and refuses what none loads that the
// target is for.
func (p *Plan) loadings() (err error) {
	l, ok := p.encoder.(interface {
		Loadings() ([]encode.Loading, error)
	})
	if !ok {
		return nil
	}
	if e, ok := p.encoder.(interface{ Linears() *encode.Linear }); ok {
		if err := e.Linears().Compare(p.named, p.renamed()); err != nil {
			return err
		}
	}
	if p.Loads, err = l.Loadings(); err != nil {
		return err
	}
	p.Quantized.Loads, p.ModelType = p.Loads, p.Quantized.Type
	if len(p.Quantized.Weights) == 0 {
		return nil
	}
	return p.Quantized.Unloadable()
}

// noteLoader notes what the metadata of the output say of who reads it.
func (p *Plan) noteLoader(meta []Entry) error {
	for i := range meta {
		if err := p.b.Step(1); err != nil {
			return err
		}
		switch text, ok := meta[i].Value.(string); {
		case !ok:
		case meta[i].Key == archKey:
			p.arch = text
		case meta[i].Key == "format":
			p.mlx = text == "mlx"
		}
	}
	return nil
}

// plainLoadings says which libraries load what is written if nothing is quantized.
func (p *Plan) plainLoadings() (err error) {
	if p.encoder != nil {
		return nil
	}
	x := encode.Plain{Format: p.sink.Name(), MLX: p.mlx, Adapter: isAdapter(p.m), Changed: p.changed(), Arch: p.arch, Runs: gguf.Knows, Named: p.named}
	p.Loads, p.ModelType, err = x.Loadings(p.b, p.m)
	return err
}

// renamed returns why the names are not those that the configuration speaks of, or "".
func (p *Plan) renamed() string {
	if p.o.Keep != nil {
		return "only the chosen tensors are written"
	}
	if _, ok := p.m.(*Renamed); ok {
		return "tensors have other names than in the source"
	}
	return ""
}

// changed returns why the tensors are not those that the configuration speaks of, or "".
func (p *Plan) changed() string {
	if why := p.renamed(); why != "" {
		return why
	}
	if g, ok := p.sink.(GGUF); ok {
		if g.RawNames && p.m.Format() != gguf.Format {
			return "tensors have the names of the source"
		}
		return ""
	}
	if p.o.AsIs && quant.Any(p.m) {
		return "weights are quantized, and are written as they are in the source"
	}
	for i := range p.Outs {
		if t := p.Outs[i].DType; t == tensor.F8E4M3 || t == tensor.F8E5M2 {
			return "numbers of " + t.String() + " without scales were not tried"
		}
	}
	return ""
}
