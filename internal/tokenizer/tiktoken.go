package tokenizer

import (
	"io/fs"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// TiktokenName is the file of Kimi's vocabulary.
const TiktokenName = "tiktoken.model"

// ReadTiktoken reads the file in a folder.
func ReadTiktoken(b *limits.Budget, files fs.FS, name string) (*Ranks, error) {
	body, err := jsontree.ReadText(b, files, name, maxBytes)
	if err != nil {
		return nil, err
	}
	return ParseTiktoken(b, name, body)
}

// ParseTiktoken reads a text that the account has paid for: for each token a line with its
// bytes in base64, a space and its rank. Ranks must be in order; tiktoken takes any order,
// but published files have this one.
func ParseTiktoken(b *limits.Budget, name, body string) (*Ranks, error) {
	r, err := newRanks(b)
	if err != nil {
		return nil, wire.At(name, "", wire.NoOffset, err)
	}
	off := int64(0)
	for line := range strings.Lines(body) {
		if err := b.Step(1); err != nil {
			return nil, wire.At(name, "", off, err)
		}
		text := strings.TrimRight(line, "\r\n")
		coded, number, ok := strings.Cut(text, " ")
		if text != "" {
			if rank, err := strconv.ParseUint(number, 10, 31); !ok || err != nil || number != strconv.Itoa(len(r.Tokens)) {
				if ok && err == nil && rank <= maxID {
					return nil, wire.At(name, "", off, wire.ErrUnsupported.Errorf("rank %d in place of rank %d", rank, len(r.Tokens)))
				}
				return nil, wire.At(name, "", off, wire.ErrSyntax.Errorf("line %d is not a token and its rank", len(r.Tokens)+1))
			}
			if err := r.add(b, coded); err != nil {
				return nil, wire.At(name, "", off, err)
			}
		}
		off += int64(len(line))
	}
	if len(r.Tokens) == 0 {
		return nil, wire.At(name, "", wire.NoOffset, wire.ErrMissing.Errorf("there are no tokens"))
	}
	return r, nil
}

// IsTiktoken reports a text that begins like a vocabulary of tiktoken, as no sentencepiece
// model can: a token in base64, a space, and rank 0.
func IsTiktoken(head string) bool {
	line, _, _ := strings.Cut(head, "\n")
	coded, rank, ok := strings.Cut(strings.TrimRight(line, "\r"), " ")
	return ok && rank == "0" && coded != "" && strings.Trim(coded, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") == ""
}
