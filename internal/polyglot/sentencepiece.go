package polyglot

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// The kinds of values in SentencePiece's messages.
type piecePart uint8

const (
	partNumber piecePart = 1 + iota // a varint
	partFloat                       // four bytes
	partText                        // UTF-8 without control characters, but for \t and \n
	partWord                        // UTF-8: a piece may be any characters, such as a carriage return and a line feed
	partMap                         // the rules of normalization
	partPiece
	partTrainer
	partNormalizer
	partSelfTest
	partSample
)

// Wire types of protobuf that a vocabulary uses.
const (
	wireVarint = 0
	wireBytes  = 2
	wire32     = 5
)

// pieceFields are the fields of each message of sentencepiece_model.proto. A file with any other
// field is refused: the first fields of a TensorFlow graph are messages as well.
var pieceFields = map[piecePart]map[uint64]piecePart{
	0:         {1: partPiece, 2: partTrainer, 3: partNormalizer, 4: partSelfTest, 5: partNormalizer},
	partPiece: {1: partWord, 2: partFloat, 3: partNumber},
	partTrainer: with(map[uint64]piecePart{10: partFloat, 15: partFloat, 51: partFloat},
		partText, []uint64{1, 2, 5, 7, 30, 31, 36, 44, 45, 46, 47, 48, 53, 54},
		partNumber, []uint64{3, 4, 6, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 32, 33, 34, 35, 40, 41, 42, 43, 49, 50, 52}),
	partNormalizer: {1: partText, 2: partMap, 3: partNumber, 4: partNumber, 5: partNumber, 6: partText},
	partSelfTest:   {1: partSample},
	partSample:     {1: partText, 2: partText},
}

func with(fields map[uint64]piecePart, lists ...any) map[uint64]piecePart {
	for i := 0; i < len(lists); i += 2 {
		for _, n := range lists[i+1].([]uint64) {
			fields[n] = lists[i].(piecePart)
		}
	}
	return fields
}

// maxVocabulary is larger than any vocabulary of SentencePiece, which is read into memory.
const maxVocabulary = 64 << 20

// sentencePiece reports whether the whole file is the protobuf message of SentencePiece's
// tokenizer.model: every field of every message is one of its schema, with a value of the
// field's kind.
func (s *source) sentencePiece() (bool, error) {
	if s.size == 0 || s.size > maxVocabulary || s.head[0] != 1<<3|wireBytes {
		return false, nil
	}
	p, err := limits.Make[byte](s.b, int(s.size))
	if err != nil {
		return false, err
	}
	defer s.b.Drop(s.size)
	if err := wire.ReadInPieces(s.b, s.r, p, 0); err != nil {
		return false, err
	}
	return s.message(0, p)
}

// message reports whether p is exactly one message of a kind.
func (s *source) message(of piecePart, p []byte) (bool, error) {
	fields := pieceFields[of]
	for len(p) > 0 {
		if err := s.steps.Step(); err != nil {
			return false, err
		}
		tag, n := binary.Uvarint(p)
		kind := fields[tag>>3]
		if n <= 0 || n > 2 || n == 2 && tag < 0x80 || kind == 0 {
			return false, nil
		}
		p = p[n:]
		switch {
		case kind == partNumber && tag&7 == wireVarint:
			if _, n = binary.Uvarint(p); n <= 0 {
				return false, nil
			}
			p = p[n:]
			continue
		case kind == partFloat && tag&7 == wire32 && len(p) >= 4:
			p = p[4:]
			continue
		case kind == partNumber, kind == partFloat, tag&7 != wireBytes:
			return false, nil
		}
		size, n := binary.Uvarint(p)
		if n <= 0 || size > uint64(len(p)-n) {
			return false, nil
		}
		value := p[n : n+int(size)]
		p = p[n+int(size):]
		if is, err := s.part(kind, value); !is || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (s *source) part(kind piecePart, value []byte) (bool, error) {
	switch kind {
	case partText:
		rest, ok := validText(value)
		return ok && rest == 0 && !bytes.ContainsAny(value, "\v\f\r\x1b"), nil
	case partWord:
		return utf8.Valid(value), nil
	case partMap:
		why, err := wire.CharsMap(s.b, value)
		return why == "", err
	case partPiece:
		if len(value) == 0 {
			return false, nil
		}
	}
	return s.message(kind, value)
}
