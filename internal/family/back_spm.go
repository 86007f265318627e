package family

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// sentencepiece returns a model of the given kind, with the pieces up to the last that is
// not an added token.
func (r *vocabWriter) sentencepiece(kind uint64) ([]byte, error) {
	w := jsontree.NewText(r.s.b)
	n := len(r.v.texts)
	for n > 0 && (r.isPadding(n-1) || r.v.types[n-1] == typeUserDefined) {
		n--
	}
	unk := r.unknown()
	bytes := false
	for i := range n {
		use := tokenizer.PieceType(r.v.types[i])
		switch {
		case i == unk:
			use = tokenizer.Unknown
		case use < tokenizer.Normal || use > tokenizer.Byte || use == tokenizer.Unknown:
			use = tokenizer.Normal
		}
		bytes = bytes || use == tokenizer.Byte
		piece := protoBytes(1, r.v.texts[i])
		piece = append(piece, 2<<3|5)
		piece = binary.LittleEndian.AppendUint32(piece, math.Float32bits(r.v.scores[i]))
		if use != tokenizer.Normal {
			piece = protoVarint(piece, 3, uint64(use))
		}
		w.Put(string(protoBytes(1, string(piece))))
	}
	// TrainerSpec: model_type, byte_fallback, and the numbers of tokens.
	var trainer []byte
	trainer = protoVarint(trainer, 3, kind)
	trainer = protoVarint(trainer, 35, uint64(btoi(bytes)))
	for i, id := range []int64{int64(unk), r.token("bos"), r.token("eos"), r.token("pad")} {
		trainer = protoVarint(trainer, uint64(40+i), uint64(id))
	}
	w.Put(string(protoBytes(2, string(trainer))))
	// NormalizerSpec: of a BPE nothing but the space before a text.
	charsmap, err := r.charsmap()
	if err != nil {
		return nil, err
	}
	spec := protoBytes(1, "identity")
	if charsmap != "" {
		spec = append(protoBytes(1, "user_defined"), protoBytes(2, charsmap)...)
	}
	squeeze, _ := r.s.keys["tokenizer.ggml.remove_extra_whitespaces"].(bool)
	spec = protoVarint(spec, 3, uint64(btoi(r.prefix())))
	spec = protoVarint(spec, 4, uint64(btoi(squeeze)))
	spec = protoVarint(spec, 5, 1)
	w.Put(string(protoBytes(3, string(spec))))
	return w.Done()
}

// charsmap returns the map that normalizes characters.
func (r *vocabWriter) charsmap() (string, error) {
	list := r.s.array("precompiled_charsmap")
	if list == nil {
		return "", nil
	}
	var out []byte
	for n, err := range list.Ints(r.s.b) {
		switch {
		case err != nil:
		case n < math.MinInt8 || n > math.MaxUint8: // llama.cpp reads arrays of int8 and of uint8
			err = wire.ErrRange.Errorf("element %d is %d, which is not a byte", len(out), n)
		default:
			out, err = limits.Append(r.s.b, out, byte(n))
		}
		if err != nil {
			return "", wire.At("gguf", "key tokenizer.ggml.precompiled_charsmap", wire.NoOffset, err)
		}
	}
	return string(out), nil
}

// btoi returns 1 for true and 0 for false.
func btoi(on bool) int {
	if on {
		return 1
	}
	return 0
}

// protoVarint appends a number as a field of a protobuf message.
func protoVarint(p []byte, field, n uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(p, field<<3), n)
}

// protoBytes returns a field of a protobuf message that holds bytes.
func protoBytes(field uint64, text string) []byte {
	p := binary.AppendUvarint(nil, field<<3|2)
	return append(binary.AppendUvarint(p, uint64(len(text))), text...)
}
