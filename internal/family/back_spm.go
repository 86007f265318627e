package family

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
)

// sentencepiece is tokenizer.model: the pieces up to the last that was none of the
// added tokens, and how sentencepiece uses them.
func (r *rebuilt) sentencepiece() ([]byte, error) {
	w := jsontree.NewText(r.s.b)
	n := len(r.v.texts)
	for n > 0 && (r.hole(n-1) || r.v.types[n-1] == typeUserDefined) {
		n--
	}
	unk := r.unknown()
	bytes := false
	for i := range n {
		kind := tokenizer.PieceType(r.v.types[i])
		switch {
		case i == unk:
			kind = tokenizer.Unknown
		case kind < tokenizer.Normal || kind > tokenizer.Byte || kind == tokenizer.Unknown:
			kind = tokenizer.Normal
		}
		bytes = bytes || kind == tokenizer.Byte
		piece := message(1, r.v.texts[i])
		piece = append(piece, 2<<3|5)
		piece = binary.LittleEndian.AppendUint32(piece, math.Float32bits(r.v.scores[i]))
		if kind != tokenizer.Normal {
			piece = whole(piece, 3, uint64(kind))
		}
		w.Put(string(message(1, string(piece))))
	}
	// TrainerSpec: model_type BPE, byte_fallback, and the numbers of tokens.
	var trainer []byte
	trainer = whole(trainer, 3, 2)
	trainer = whole(trainer, 35, uint64(flag(bytes)))
	for i, id := range []int64{int64(unk), r.token("bos"), r.token("eos"), r.token("pad")} {
		trainer = whole(trainer, uint64(40+i), uint64(id))
	}
	w.Put(string(message(2, string(trainer))))
	// NormalizerSpec: nothing but the space before a text.
	spec := message(1, "identity")
	spec = whole(spec, 3, uint64(flag(r.prefix())))
	spec = whole(spec, 4, 0)
	spec = whole(spec, 5, 1)
	w.Put(string(message(3, string(spec))))
	return w.Done()
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// whole appends a number as a field of protobuf.
func whole(p []byte, field, n uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(p, field<<3), n)
}

// message is a field of protobuf that holds bytes.
func message(field uint64, text string) []byte {
	p := binary.AppendUvarint(nil, field<<3|2)
	return append(binary.AppendUvarint(p, uint64(len(text))), text...)
}
