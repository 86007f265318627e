package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/gguf/edit"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// keys lays the keys of a file, and then those of the flags, over the source's.
func (c *convertCmd) keys(b *limits.Budget, o *conversion) error {
	if c.GGUFMetadata == "" && len(c.GGUFKV) == 0 {
		return nil
	}
	if o.opts.Sink.Name() != gguf.Format {
		return usage{"--gguf-metadata and --gguf-kv go with --to gguf"}
	}
	var over []gguf.Entry
	if path := c.GGUFMetadata; path != "" {
		body, err := readSmall(b, path)
		if err == nil {
			over, err = edit.Metadata(b, body)
		}
		if err != nil {
			return fmt.Errorf("--gguf-metadata: %w", err)
		}
	}
	for _, pair := range c.GGUFKV {
		e, err := edit.Pair(b, pair)
		if err == nil {
			over, err = edit.Merge(b, over, []gguf.Entry{e})
		}
		if err != nil {
			return fmt.Errorf("--gguf-kv: %w", err)
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
	return nil
}

// forLlamaCPP makes a model of transformers one that llama.cpp runs; others stay
// what they are.
func forLlamaCPP(b *limits.Budget, w *written, to convert.LlamaCPP) error {
	if !convert.Stated(w.model) {
		return nil
	}
	to.Name = modelName(w.path)
	m, err := to.Model(b, w.model)
	if err == nil {
		w.model = m
	}
	return err
}

// forTransformers makes a model of llama.cpp a folder of transformers.
func (c *convertCmd) forTransformers(b *limits.Budget, o *conversion) error {
	if c.GGUFMetadata != "" || len(c.GGUFKV) > 0 {
		return usage{"--gguf-metadata and --gguf-kv go with --to gguf"}
	}
	o.inFolder = true
	m, err := convert.Transformers{Target: o.opts.Quant.Target, Blocks: c.OutDtype == "" && c.Cast == "" && c.Quant == ""}.Model(b, o.model)
	if err == nil {
		o.model = m
	}
	return err
}

// forMLX makes a model of transformers or of llama.cpp a folder of mlx-lm, which casts
// all numbers to the type that config.json names.
func (c *convertCmd) forMLX(b *limits.Budget, o *conversion) error {
	if c.GGUFMetadata != "" || len(c.GGUFKV) > 0 {
		return usage{"--gguf-metadata and --gguf-kv go with --to gguf"}
	}
	o.inFolder = true
	m, cast, err := convert.MLX{Quant: o.opts.Quant}.Model(b, o.model)
	if err != nil {
		return err
	}
	o.model = m
	if cast != nil && o.opts.Cast == nil {
		o.opts.Quant.Target, o.opts.Cast = *cast, func(*tensor.Info) bool { return true }
	}
	return nil
}

// stated is the value that --gguf-kv gives a key: those that decide where llama.cpp's
// tables do not.
func (c *convertCmd) stated(key string) string {
	for _, pair := range c.GGUFKV {
		if value, ok := strings.CutPrefix(pair, key+"="); ok {
			return value
		}
	}
	return ""
}

// modelName is the name of a model's folder.
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

// maxKeys bounds a file of keys: the largest vocabularies take a few megabytes.
const maxKeys = 64 << 20

// readSmall reads a file that the user names, on the account.
func readSmall(b *limits.Budget, path string) (string, error) {
	h, err := tensor.OpenFile(localDir(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return "", err
	}
	defer h.Close()
	if h.Size > maxKeys {
		return "", wire.ErrUnsupported.Errorf("%d bytes, at most %d are read", h.Size, maxKeys)
	}
	c := wire.NewCursor(b, gguf.Format, h, h.Size)
	return c.String(uint64(h.Size))
}
