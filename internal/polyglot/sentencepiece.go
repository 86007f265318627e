package polyglot

import (
	"bufio"
	"encoding/binary"
	"io"
)

// Wire types of protobuf that a vocabulary uses.
const (
	wireVarint = 0
	wireBytes  = 2
	wire32     = 5
)

const (
	// maxModelField is the last field of SentencePiece's ModelProto: first the pieces,
	// then four specifications, all of them messages.
	maxModelField = 5
	// maxPiece bounds one piece; libraries write none longer than 100 bytes.
	maxPiece = 4 << 10
)

// sentencePiece reports whether the whole file is the protobuf message of SentencePiece's
// tokenizer.model. A piece must be a text, a score and a type and nothing else, so that a
// TensorFlow graph, whose first field is a message too, does not match.
func (s *source) sentencePiece() (bool, error) {
	if s.size == 0 || s.head[0] != 1<<3|wireBytes {
		return false, nil
	}
	in := bufio.NewReaderSize(io.NewSectionReader(s.r, 0, s.size), 2*maxPiece)
	for {
		if err := s.steps.Step(); err != nil {
			return false, err
		}
		p, err := in.Peek(1 + binary.MaxVarintLen64)
		if len(p) == 0 {
			return err == io.EOF, orEOF(err)
		}
		tag := p[0]
		n, width := binary.Uvarint(p[1:])
		if tag&7 != wireBytes || tag>>3 == 0 || tag>>3 > maxModelField || width <= 0 || n > uint64(s.size) {
			return false, nil
		}
		in.Discard(1 + width) // the peeked bytes
		if tag>>3 == 1 {
			if n > maxPiece {
				return false, nil
			}
			if p, err = in.Peek(int(n)); err != nil || !isPiece(p) {
				return false, orEOF(err)
			}
		}
		if _, err := io.CopyN(io.Discard, in, int64(n)); err != nil {
			return false, orEOF(err)
		}
	}
}

// orEOF returns an error of the reader, and nil for an early end, which is an answer.
func orEOF(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}

// isPiece reports whether p is a text, optionally followed by a score and a type.
func isPiece(p []byte) bool {
	last := byte(0)
	for len(p) > 0 {
		tag := p[0]
		n, width := binary.Uvarint(p[1:])
		switch {
		case tag == 1<<3|wireBytes && last == 0 && width > 0 && n <= uint64(len(p)-1-width):
			p = p[1+width+int(n):]
		case tag == 2<<3|wire32 && last == 1 && len(p) >= 5:
			p = p[5:]
		case tag == 3<<3|wireVarint && (last == 1 || last == 2) && width > 0:
			p = p[1+width:]
		default:
			return false
		}
		last = tag >> 3
	}
	return last > 0
}
