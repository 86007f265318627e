package gguf

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	tokensKey = "tokenizer.ggml.tokens"

	// A slot of the hash table has the index of a token in its low bits and bits of its
	// hash above them.
	placeBits    = 40
	maxVocabSize = 1<<placeBits - 1
)

// A vocabulary finds two equal tokens in one pass. It does not keep tokens: a slot is 8
// bytes, at most three quarters of the slots are used, and a token is read again if
// hashes are equal.
type vocabulary struct {
	v     *verifier
	start int64
	seed  maphash.Seed
	slots []uint64

	first, second int64 // offsets of two equal tokens, 0 while none are known
	index         uint64
	badByte       int64 // offset of a token that has the form of a byte token but is not one
	badIndex      uint64
}

func newVocabulary(v *verifier, p *pair) (*vocabulary, error) {
	if p.body.Len > maxVocabSize {
		return nil, wire.ErrUnsupported.WithRule("gguf.vocabulary-size").Errorf("a vocabulary of %d bytes", p.body.Len)
	}
	size := uint64(16)
	for size/4*3 < p.num {
		size *= 2
	}
	n, ok := wire.Int(size, wire.MaxSize)
	if !ok { // on a 32-bit machine
		return nil, &limits.Error{Axis: limits.SingleAlloc, Want: int64(size) * 8, Left: math.MaxInt32}
	}
	slots, err := limits.Make[uint64](v.b, n)
	if err != nil {
		return nil, err
	}
	return &vocabulary{v: v, start: p.body.Off, seed: maphash.MakeSeed(), slots: slots}, nil
}

// close frees the table; the results stay.
func (o *vocabulary) close() {
	o.v.b.Drop(int64(cap(o.slots)) * 8)
	o.slots = nil
}

// add adds the i-th token, whose length is at off.
func (o *vocabulary) add(i uint64, off int64, token []byte) error {
	if o.badByte == 0 && looksLikeByte(token) {
		o.badByte, o.badIndex = off, i
	}
	if o.second != 0 || len(token) == 0 {
		return nil // one pair is enough; readers rename empty tokens
	}
	hash := maphash.Bytes(o.seed, token)
	slot := uint64(off-o.start+1) | hash&^maxVocabSize
	mask := uint64(len(o.slots) - 1)
	at := hash & mask
	for ; o.slots[at] != 0; at = (at + 1) & mask {
		if (o.slots[at]^slot)&^maxVocabSize != 0 {
			continue
		}
		if err := o.v.steps.Step(); err != nil {
			return err
		}
		earlier := o.start + int64(o.slots[at]&maxVocabSize) - 1
		same, err := o.same(earlier, token)
		if err != nil {
			return err
		}
		if same {
			o.first, o.second, o.index = earlier, off, i
			return nil
		}
	}
	o.slots[at] = slot
	return nil
}

// same compares a token with one that was read before.
func (o *vocabulary) same(off int64, token []byte) (bool, error) {
	f, buf := o.v.f, o.v.small[:]
	width := int(f.width())
	head := buf[:width]
	if err := wire.ReadFull(f.r, head, off); err != nil {
		return false, err
	}
	var size uint64
	for i := range head {
		at := i
		if o.v.c.Order == binary.LittleEndian {
			at = width - 1 - i
		}
		size = size<<8 | uint64(head[at])
	}
	if size != uint64(len(token)) {
		return false, nil
	}
	for off += int64(width); len(token) > 0; {
		p := buf[:min(len(buf), len(token))]
		if err := wire.ReadFull(f.r, p, off); err != nil {
			return false, err
		}
		if !bytes.Equal(p, token[:len(p)]) {
			return false, nil
		}
		off, token = off+int64(len(p)), token[len(p):]
	}
	return true, nil
}

// looksLikeByte reports whether a token has the form of a byte token, <0xHH>, without two
// hexadecimal digits.
func looksLikeByte(t []byte) bool {
	if len(t) < 4 || t[0] != '<' || t[1] != '0' || t[2] != 'x' || t[len(t)-1] != '>' {
		return false
	}
	return len(t) != 6 || !hexDigit(t[3]) || !hexDigit(t[4])
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'F' || c >= 'a' && c <= 'f'
}
