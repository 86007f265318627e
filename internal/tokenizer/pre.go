package tokenizer

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Digest returns the SHA-256 of the probe text's tokens, written like a list in Python.
func (t *JSON) Digest(b *limits.Budget) (string, error) {
	ids, err := t.Encode(b, Probe)
	if err != nil {
		return "", err
	}
	return digestOf(b, ids)
}

func digestOf(b *limits.Budget, ids []int32) (string, error) {
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

// Pre returns llama.cpp's name of the pre-tokenizer.
func (t *JSON) Pre(b *limits.Budget) (string, error) {
	digest, err := t.Digest(b)
	if err != nil {
		return "", err
	}
	return preName(digest)
}

func preName(digest string) (string, error) {
	name, ok := preNames[digest]
	if !ok {
		return "", wire.ErrUnsupported.Errorf("llama.cpp has no name for this pre-tokenizer (digest %s of its probe text); set the key tokenizer.ggml.pre to an equal one of its own (%s)", digest, wire.OptionMeta)
	}
	return name, nil
}

// kimiPattern is the expression of Kimi's tokenization_kimi.py.
const kimiPattern = `[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
	`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// Kimi returns llama.cpp's name of the pre-tokenizer for texts that are cut by
// kimiPattern.
func (r *Ranks) Kimi(b *limits.Budget) (string, error) {
	ids, err := r.Encode(b, kimiPattern, Probe)
	if err != nil {
		return "", err
	}
	digest, err := digestOf(b, ids)
	if err != nil {
		return "", err
	}
	return preName(digest)
}
