package tokenizer

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Digest is the SHA-256 of the probe's numbers, written as Python writes a list.
func (t *JSON) Digest(b *limits.Budget) (string, error) {
	ids, err := t.Encode(b, Probe)
	if err != nil {
		return "", err
	}
	text, err := limits.Make[byte](b, 12*len(ids)+2)
	if err != nil {
		return "", err
	}
	text = append(text[:0], '[')
	for i, id := range ids {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = strconv.AppendInt(text, int64(id), 10)
	}
	sum := sha256.Sum256(append(text, ']'))
	return hex.EncodeToString(sum[:]), nil
}

// Pre is the name that llama.cpp has for the pre-tokenizer.
func (t *JSON) Pre(b *limits.Budget) (string, error) {
	digest, err := t.Digest(b)
	if err != nil {
		return "", err
	}
	name, ok := pres[digest]
	if !ok {
		return "", wire.ErrUnsupported.With("llama.cpp has no name for this pre-tokenizer (digest %s of its probe text); the key tokenizer.ggml.pre says which of its own is the same (%s)", digest, wire.OptionMeta)
	}
	return name, nil
}
