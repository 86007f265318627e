package tokenizer

import (
	"cmp"
	"encoding/base64"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// maxToken bounds the bytes of a ranked token: published ones have 128 at most.
const maxToken = 4 << 10

// Ranks are tokens of bytes. The number of a token is its rank, which also orders merges:
// like tiktoken, it has no list of merges.
type Ranks struct {
	Tokens []string // bytes
	set    *wire.NameSet
}

func newRanks(b *limits.Budget) (r *Ranks, err error) {
	r = &Ranks{}
	r.set, err = wire.NewNameSet(b, 0, func(i int) string { return r.Tokens[i] })
	return r, err
}

// add decodes the next token.
func (r *Ranks) add(b *limits.Budget, coded string) error {
	n := len(r.Tokens)
	if n > maxID || len(coded) > 2*maxToken {
		return wire.ErrUnsupported.Errorf("token %d: more tokens than %d, or one of more than %d bytes", n, maxID, maxToken)
	}
	if err := b.Hold(int64(base64.StdEncoding.DecodedLen(len(coded)))); err != nil {
		return err
	}
	text, err := base64.StdEncoding.Strict().DecodeString(coded)
	if err != nil || len(text) == 0 {
		return wire.ErrSyntax.Errorf("token %d is not base64, or empty", n)
	}
	if r.Tokens, err = limits.Append(b, r.Tokens, string(text)); err != nil {
		return err
	}
	was, added, err := r.set.Add(n)
	if err == nil && !added {
		err = wire.ErrDuplicate.Errorf("tokens %d and %d", was, n)
	}
	return err
}

// Texts returns the tokens with a character for each byte, as a BPE of bytes has them.
func (r *Ranks) Texts(b *limits.Budget) ([]string, error) {
	list, err := limits.Make[string](b, len(r.Tokens))
	for i := 0; i < len(list) && err == nil; i++ {
		list[i], err = toByteChars(b, r.Tokens[i])
	}
	return list, err
}

// rank returns the rank of a text, or -1.
func (r *Ranks) rank(text string) int {
	if i, ok := r.set.Find(text); ok {
		return i
	}
	return -1
}

// merge merges bytes into tokens of ranks below most: the lowest rank first, of equal ones
// the first.
func (r *Ranks) merge(b *limits.Budget, text string, most int) ([]string, error) {
	parts, err := limits.Make[string](b, len(text))
	if err != nil {
		return nil, err
	}
	for i := range parts {
		parts[i] = text[i : i+1]
	}
	for {
		if err := b.Step(int64(1 + len(text)/16 + len(parts))); err != nil {
			return nil, err
		}
		best, at, from := most, -1, 0
		for i := range len(parts) - 1 {
			n := len(parts[i]) + len(parts[i+1])
			if rank := r.rank(text[from : from+n]); rank >= 0 && rank < best {
				best, at = rank, i
			}
			from += len(parts[i])
		}
		if at < 0 {
			return parts, nil
		}
		from = 0
		for _, p := range parts[:at] {
			from += len(p)
		}
		parts[at] = text[from : from+len(parts[at])+len(parts[at+1])]
		parts = slices.Delete(parts, at+1, at+2)
	}
}

// Merges returns the merges that make the tokens: the two parts that the bytes of a token
// are merged into before it. A token with more parts has no merge.
func (r *Ranks) Merges(b *limits.Budget) (list []string, err error) {
	for i, text := range r.Tokens {
		if len(text) == 1 {
			continue
		}
		parts, err := r.merge(b, text, i)
		if err != nil {
			return nil, err
		}
		if len(parts) != 2 {
			continue
		}
		if list, err = appendMerge(b, list, parts[0], parts[1]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Splits returns the merges that the converter writes for mistral-common's vocabularies:
// every way to cut a token in two, ordered by the ranks of both parts.
func (r *Ranks) Splits(b *limits.Budget) (list []string, err error) {
	for i := 256; i < len(r.Tokens); i++ {
		text := r.Tokens[i]
		if err := b.Step(int64(len(text) * (1 + len(text)/16))); err != nil {
			return nil, err
		}
		type pair struct{ left, right, cut int }
		var cuts []pair
		for at := 1; at < len(text); at++ {
			if left, right := r.rank(text[:at]), r.rank(text[at:]); left >= 0 && right >= 0 {
				cuts = append(cuts, pair{left, right, at})
			}
		}
		if len(cuts) == 0 {
			return nil, wire.ErrMismatch.Errorf("token %d is not made of two others", i)
		}
		slices.SortStableFunc(cuts, func(x, y pair) int { return cmp.Or(cmp.Compare(x.left, y.left), cmp.Compare(x.right, y.right)) })
		for _, c := range cuts {
			if list, err = appendMerge(b, list, text[:c.cut], text[c.cut:]); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// appendMerge appends a merge of two parts made of bytes.
func appendMerge(b *limits.Budget, list []string, left, right string) ([]string, error) {
	l, err := toByteChars(b, left)
	if err != nil {
		return nil, err
	}
	r, err := toByteChars(b, right)
	if err != nil {
		return nil, err
	}
	if err := b.Hold(int64(len(l) + len(r) + 1)); err != nil {
		return nil, err
	}
	return limits.Append(b, list, l+" "+r)
}

// Encode returns the tokens of a text that an expression cuts, as tiktoken does: a piece
// that is a token is one, any other is merged.
func (r *Ranks) Encode(b *limits.Budget, expr, text string) (ids []int32, err error) {
	cut, err := split(b, expr, "Isolated", false)
	if err != nil {
		return nil, err
	}
	pieces, err := cut(b, text, true)
	if err != nil {
		return nil, err
	}
	for _, piece := range pieces {
		parts := []string{piece}
		if r.rank(piece) < 0 {
			if parts, err = r.merge(b, piece, len(r.Tokens)); err != nil {
				return nil, err
			}
		}
		for _, one := range parts {
			rank := r.rank(one)
			if rank < 0 {
				return nil, wire.ErrMissing.Errorf("no token is the byte %#02x", one[0])
			}
			if ids, err = limits.Append(b, ids, int32(rank)); err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}
