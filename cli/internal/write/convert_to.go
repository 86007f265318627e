package write

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/gguf/edit"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// setKeys overrides metadata of the source with the keys of --gguf-metadata, and those with
// the keys of --gguf-kv. It returns the keys of both.
func (c *Convert) setKeys(b *limits.Budget, o *conversion) (over []gguf.Entry, err error) {
	if c.GGUFMetadata == "" && len(c.GGUFKV) == 0 {
		return nil, nil
	}
	if o.opts.Sink.Name() != gguf.Format {
		return nil, fault.Usage("--gguf-metadata and --gguf-kv go with --to gguf")
	}
	if path := c.GGUFMetadata; path != "" {
		body, err := disk.ReadText(b, path)
		if err == nil {
			over, err = edit.Metadata(b, body)
		}
		if err != nil {
			return nil, fmt.Errorf("--gguf-metadata: %w", err)
		}
	}
	for _, pair := range c.GGUFKV {
		e, err := edit.Pair(b, pair)
		if err == nil {
			over, err = edit.Merge(b, over, []gguf.Entry{e})
		}
		if err != nil {
			return nil, fmt.Errorf("--gguf-kv: %w", err)
		}
	}
	o.opts.Meta = func(meta []convert.Entry) ([]convert.Entry, error) {
		base := make([]gguf.Entry, 0, len(meta))
		for _, e := range meta {
			base = append(base, gguf.Entry(e))
		}
		merged, err := edit.Merge(b, base, over)
		if err != nil {
			return nil, err
		}
		out := make([]convert.Entry, 0, len(merged))
		for _, e := range merged {
			out = append(out, convert.Entry(e))
		}
		return out, nil
	}
	return over, nil
}

// forLlamaCPP gives a transformers model the form that llama.cpp runs. Other models are not
// changed.
func forLlamaCPP(b *limits.Budget, w *conversionState, to forms.LlamaCPP) error {
	if !forms.Stated(w.model) {
		return nil
	}
	to.Name = modelName(w.path)
	m, err := to.Model(b, w.model)
	if err == nil {
		w.model = m
	}
	return err
}

// forTransformers gives a GGUF model the form of a transformers folder.
func (c *Convert) forTransformers(b *limits.Budget, o *conversion) error {
	if c.GGUFMetadata != "" || len(c.GGUFKV) > 0 {
		return fault.Usage("--gguf-metadata and --gguf-kv go with --to gguf")
	}
	o.inFolder = true
	m, err := forms.Transformers{Target: o.opts.Quant.Target, Blocks: c.OutDtype == "" && c.Cast == "" && c.Quant == ""}.Model(b, o.model)
	if err == nil {
		o.model = m
	}
	return err
}

// forMLX gives a transformers or GGUF model the form of a folder of mlx-lm, which casts all
// numbers to the type that config.json names.
func (c *Convert) forMLX(b *limits.Budget, o *conversion) error {
	if c.GGUFMetadata != "" || len(c.GGUFKV) > 0 {
		return fault.Usage("--gguf-metadata and --gguf-kv go with --to gguf")
	}
	o.inFolder = true
	return toMLX(b, o)
}

// toMLX gives a model the form of mlx-lm.
func toMLX(b *limits.Budget, o *conversion) error {
	m, cast, err := forms.MLX{Quant: o.opts.Quant}.Model(b, o.model)
	if err != nil {
		return err
	}
	o.model = m
	if cast != nil && o.opts.Cast == nil {
		o.opts.Quant.Target, o.opts.Cast = *cast, func(*tensor.Info) bool { return true }
	}
	return nil
}

// textOf returns the text that a list sets a key to, or "".
func textOf(list []gguf.Entry, key string) string {
	for _, e := range list {
		if text, ok := e.Value.(string); ok && e.Key == key {
			return text
		}
	}
	return ""
}

// modelName returns the name of the folder that a model is in.
func modelName(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	if info, err := os.Stat(full); err == nil && !info.IsDir() {
		full = filepath.Dir(full)
	}
	return filepath.Base(full)
}
