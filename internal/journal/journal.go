package journal

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// format is the first line.
const format = "amn.journal/1"

const (
	maxLine = 64 << 10
	// MaxPieces is how many pieces a record may have.
	MaxPieces = 64
	sealSize  = 16
	seals     = 2 * sealSize // hexadecimal digits of a seal
)

// A Fact is something that the output depends on. Journals of the same job have the same facts
// in the same order.
type Fact struct{ Name, Value string }

// A Piece is a range of an output file that was written, with its SHA-256.
type Piece struct {
	File     int
	Off, Len int64
	Sum      [sha256.Size]byte
}

// A Record says that the units [Lo, Hi) of a task were done, or, with End, that the task has
// ended.
type Record struct {
	End    bool
	Task   int
	Lo, Hi int64
	Counts [4]int64 // what the caller counts
	Pieces []Piece
}

// File is the file of a journal.
type File interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
}

// Unusable is the error about a journal that says nothing: it is empty, damaged at its
// beginning, or sealed with another key.
type Unusable struct{ Why string }

func (u *Unusable) Error() string { return u.Why }

// Class makes it a usage error if no caller handles it.
func (u *Unusable) Class() wire.Class { return wire.Usage }

// Differs is the error about a journal of another job. Was has the facts of the journal that
// differ, and Now those of the job; the value of one that is missing is "".
type Differs struct{ Was, Now []Fact }

func (d *Differs) Error() string { return "the journal is of another job" }

// Class makes it a wrong usage.
func (d *Differs) Class() wire.Class { return wire.Usage }

// A Journal is safe for concurrent appends.
type Journal struct {
	f    File
	key  []byte
	head [sealSize]byte
	body int64 // offset of the first record

	mu   sync.Mutex
	last [sealSize]byte // seal of the last line
	at   int64          // offset after it
	line []byte
}

// seal returns the seal of a line after another one.
func (j *Journal) seal(before [sealSize]byte, line []byte) (s [sealSize]byte) {
	h := hmac.New(sha256.New, j.key)
	h.Write(before[:])
	h.Write(line)
	copy(s[:], h.Sum(nil))
	return s
}

// Begin writes the header of a new journal.
func Begin(f File, key []byte, facts []Fact) (*Journal, error) {
	j := &Journal{f: f, key: key}
	text := header(facts)
	j.head = j.seal([sealSize]byte{}, text)
	text = append(text, 'h', ' ')
	text = append(hex.AppendEncode(text, j.head[:]), '\n')
	if err := f.Truncate(0); err != nil {
		return nil, err
	}
	if _, err := f.WriteAt(text, 0); err != nil {
		return nil, err
	}
	j.body, j.at, j.last = int64(len(text)), int64(len(text)), j.head
	return j, nil
}

// Open reads the header of a journal. Before anything is appended, [Journal.Each] must have
// read it to its end.
func Open(b *limits.Budget, f File, key []byte, facts []Fact) (*Journal, error) {
	j := &Journal{f: f, key: key}
	r, done, err := j.lines(b, 0)
	if err != nil {
		return nil, err
	}
	defer done()
	found, err := j.readHeader(b, r)
	if err != nil {
		return nil, err
	}
	if d := difference(found, facts); d != nil {
		return nil, d
	}
	return j, nil
}

// readHeader reads the facts up to their seal.
func (j *Journal) readHeader(b *limits.Budget, r *bufio.Reader) (facts []Fact, err error) {
	damaged := &Unusable{"its beginning is damaged, or it was made on another machine or by another user"}
	h := hmac.New(sha256.New, j.key)
	h.Write(make([]byte, sealSize))
	for first := true; ; first = false {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		line, err := next(r)
		switch {
		case err == io.EOF && first && len(line) == 0:
			return nil, &Unusable{"it is empty"}
		case err == io.EOF, errors.Is(err, bufio.ErrBufferFull):
			return nil, damaged
		case err != nil:
			return nil, err
		case first && string(line) != format+"\n":
			return nil, damaged
		}
		j.body += int64(len(line))
		if rest, ok := bytes.CutPrefix(line, []byte("h ")); ok {
			copy(j.head[:], h.Sum(nil))
			if !sealed(rest[:len(rest)-1], j.head) {
				return nil, damaged
			}
			return facts, nil
		}
		h.Write(line)
		if first {
			continue
		}
		f, ok, err := fact(b, string(line[:len(line)-1]))
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, damaged
		}
		if facts, err = limits.Append(b, facts, f); err != nil {
			return nil, err
		}
	}
}

// lines returns a reader from an offset on, whose buffer is charged until done.
func (j *Journal) lines(b *limits.Budget, off int64) (r *bufio.Reader, done func(), err error) {
	done, err = b.Lease(maxLine)
	if err != nil {
		return nil, nil, err
	}
	return bufio.NewReaderSize(io.NewSectionReader(j.f, off, 1<<62), maxLine), done, nil
}

// next returns the next whole line.
func next(r *bufio.Reader) ([]byte, error) { return r.ReadSlice('\n') }

// sealed reports whether text is a seal.
func sealed(text []byte, want [sealSize]byte) bool {
	return hmac.Equal(text, hex.AppendEncode(make([]byte, 0, 2*sealSize), want[:]))
}

// Each calls do with each record in order, which is valid until do returns. It ends without an
// error at the first line that is not whole or not sealed; what follows will be overwritten.
func (j *Journal) Each(b *limits.Budget, do func(*Record) error) error {
	r, done, err := j.lines(b, j.body)
	if err != nil {
		return err
	}
	defer done()
	at, last := j.body, j.head
	rec := &Record{Pieces: make([]Piece, 0, MaxPieces)}
	for {
		if err := b.Step(1); err != nil {
			return err
		}
		line, err := next(r)
		if err == io.EOF || errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		if err != nil {
			return err
		}
		text, seal, ok := cutSeal(line)
		if !ok {
			break
		}
		if want := j.seal(last, text); !sealed(seal, want) || !rec.parse(string(text)) {
			break
		} else {
			last = want
		}
		at += int64(len(line))
		if err := do(rec); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.at, j.last = at, last
	return nil
}

// Whole returns the size of the journal up to where [Journal.Each] ended.
func (j *Journal) Whole() int64 { return j.at }

// Append adds a record. One with more than [MaxPieces] is left out: what it says will be done
// again.
func (j *Journal) Append(r *Record) error {
	if len(r.Pieces) > MaxPieces {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.line = r.text(j.line[:0])
	seal := j.seal(j.last, j.line)
	j.line = append(j.line, ' ')
	j.line = append(hex.AppendEncode(j.line, seal[:]), '\n')
	if _, err := j.f.WriteAt(j.line, j.at); err != nil {
		return err
	}
	j.at += int64(len(j.line))
	j.last = seal
	return nil
}

// Cut removes what follows the last whole line that [Journal.Each] has read.
func (j *Journal) Cut() error { return j.f.Truncate(j.at) }
