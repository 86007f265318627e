package encode

import (
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Plain says how a model is written whose weights are not quantized.
type Plain struct {
	Format  string // of the files
	MLX     bool   // with the names of mlx-lm
	Adapter bool   // the tensors are those of a PEFT adapter
	// Changed is why the tensors are not those that the configuration speaks of; "" if they are.
	Changed string
	// Arch is the architecture of a GGUF file. Runs reports whether llama.cpp has it.
	Arch string
	Runs func(arch string) bool
	// Named are the names of the tensors that are written, as the source has them.
	Named []string
}

// triedPlain is the format of folders that are not quantized, in the tables.
const triedPlain = "plain"

// Loadings returns what is known of each library that could load the model m so, and its type.
func (p *Plain) Loadings(b *limits.Budget, m tensor.Model) (list []Loading, modelType string, err error) {
	switch {
	case p.Format == "gguf":
		return []Loading{p.byLlamaCPP()}, p.Arch, nil
	case p.Format != "safetensors":
		l := Loading{Library: string(loaders.Transformers), Version: loaders.Transformers.Version(), Verdict: LoadFails, Why: "it reads no ." + p.Format}
		return []Loading{l}, "", nil
	case p.Adapter:
		l := Loading{Library: string(loaders.PEFT), Version: loaders.PEFT.Version(), Why: "it is an adapter, whose tensors are written as they are"}
		return []Loading{l}, "", nil
	}
	e := &Linear{As: &Target{Name: triedPlain}}
	e.Budget, e.Model = b, m
	if err := e.modelTypes(); err != nil {
		return nil, "", wire.At("convert", "file "+wire.Quote(ConfigName), wire.NoOffset, err)
	}
	switch {
	case p.MLX:
		list = []Loading{ByMLX(e.Type, triedPlain, "")}
	case e.component != "":
		list = []Loading{e.plainByDiffusers()}
	default:
		if list, err = e.plainList(p); err != nil {
			return nil, "", err
		}
	}
	for i := range list {
		if l := &list[i]; p.Changed != "" && l.Verdict != LoadFails {
			l.Version, l.Verdict, l.Why = loaders.Library(l.Library).Version(), LoadUnknown, p.Changed
		}
	}
	return list, e.Type, nil
}

// plainList returns what is known of the libraries that load a folder.
func (e *Linear) plainList(p *Plain) ([]Loading, error) {
	if err := e.Compare(p.Named, p.Changed); err != nil {
		return nil, err
	}
	list := []Loading{e.byTransformers()}
	e.lacking(&list[0])
	for _, l := range []loaders.Library{loaders.VLLM, loaders.SGLang} {
		if len(e.classes) > 0 {
			list = append(list, e.plainByServer(l)) // two
		}
	}
	return list, nil
}

// byLlamaCPP returns what is known of llama.cpp.
func (p *Plain) byLlamaCPP() Loading {
	l := Loading{Library: string(loaders.LlamaCPP), Version: loaders.LlamaCPP.Version()}
	switch {
	case p.Changed != "":
		l.Why = p.Changed
	case p.Arch == "":
		l.Verdict, l.Why = LoadFails, "the file has no key general.architecture"
	case !p.Runs(p.Arch):
		l.Why = "it has no architecture " + wire.Quote(p.Arch)
	default:
		l.Verdict = LoadRead
	}
	return l
}

// plainByServer returns what the sources of vLLM or SGLang say of a model that is not quantized.
func (e *Linear) plainByServer(by loaders.Library) Loading {
	l := Loading{Library: string(by), Version: by.Version(), Why: "it has no class " + wire.Quote(e.classes[0])}
	for _, a := range e.classes[:min(len(e.classes), transformers.MostInside)] {
		if _, ok := by.Fused(a); ok {
			l.Verdict, l.Why = LoadRead, ""
		}
	}
	return l
}

// plainByDiffusers returns what the sources of diffusers say of a part of a pipeline.
func (e *Linear) plainByDiffusers() Loading {
	l := Loading{Library: string(loaders.Diffusers), Version: loaders.Diffusers.Version()}
	switch _, known := loaders.Diffusers.Takes(e.component); {
	case !known:
		l.Why = "it has no class " + wire.Quote(e.component)
	case newerVersion(e.writtenBy, l.Version):
		l.Why = "config.json was written by version " + e.writtenBy + ", and what is known is of " + l.Version
	default:
		l.Verdict = LoadRead
	}
	return l
}

// ByMLX returns what is known of mlx-lm and a model type in a format; instead is a format that
// it was tried with where it was not tried with this one, or "".
func ByMLX(modelType, format, instead string) Loading {
	l := Loading{Library: string(loaders.MLXLM)}
	if l.Version = loaders.MLXLM.Tried(format, modelType); l.Version != "" {
		l.Verdict = LoadTried
		return l
	}
	if l.Version = loaders.MLXLM.Tried(instead, modelType); l.Version != "" {
		l.Verdict, l.Why = LoadTried, "tried as "+instead
		return l
	}
	l.Version = loaders.MLXLM.Version()
	switch _, known := loaders.MLXLM.Takes(modelType); {
	case modelType == "":
		l.Why = "no config.json states a model_type"
	case !known:
		l.Verdict, l.Why = LoadFails, "it has no model_type "+wire.Quote(modelType)
	default:
		l.Verdict = LoadRead
	}
	return l
}
