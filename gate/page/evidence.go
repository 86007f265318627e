package page

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// How much is shown of the bytes and of the pickles that findings are about.
const (
	rowBytes    = 16
	bytesBefore = 2 * rowBytes
	bytesShown  = 8 * rowBytes
	maxEvidence = 200 // findings with bytes
	maxPrograms = 8
	linesBefore = 12 // instructions that are kept before one that is refused
	linesAfter  = 6
	maxLines    = 400 // of one pickle
)

// A Program is a pickle as the instructions that its loader would run: the first ones, and those
// that are refused with their neighbours.
type Program struct {
	Pickle string `json:"pickle"`
	Lines  []Line `json:"lines"`
	// Left is the number of instructions that are not shown.
	Left int64 `json:"left,omitempty"`
}

// A Line is an instruction. Skipped is the number of instructions before it that are not shown.
type Line struct {
	Offset  int64  `json:"offset"`
	Depth   int    `json:"depth"`
	Op      string `json:"op"`
	Text    string `json:"text"`
	Refused bool   `json:"refused,omitempty"`
	Skipped int64  `json:"skipped,omitempty"`
}

// asTheyLie are the formats whose findings have offsets of the file itself, and not of what was
// unpacked from it.
var asTheyLie = map[string]bool{"safetensors": true, "gguf": true, "npy": true, "pth": true, "pickle": true}

// Evidence adds what the findings of a verdict are about: the bytes at their offsets, and the
// instructions of the pickles. src is the file that was judged.
func (r *Report) Evidence(b *limits.Budget, src io.ReaderAt, size int64, v *gate.Verdict) error {
	if r == nil || v == nil || src == nil {
		return errNoReport
	}
	if v.Contents != nil || !asTheyLie[v.Format] {
		return nil
	}
	if err := r.bytes(b, src, size); err != nil {
		return err
	}
	for k := range v.Pickles[:min(len(v.Pickles), maxPrograms)] {
		p, err := program(b, src, &v.Pickles[k])
		if err != nil {
			return err
		}
		r.Programs = append(r.Programs, p)
	}
	return nil
}

// FolderEvidence does the same for the verdict about a folder, of whose files it shows the bytes
// alone.
func (r *Report) FolderEvidence(b *limits.Budget, files fs.FS, v *gate.Verdict) error {
	if r == nil || v == nil || files == nil {
		return errNoReport
	}
	left := maxEvidence
	for k := range r.Verdict.Findings {
		f := &r.Verdict.Findings[k]
		if f.Offset == nil || left == 0 {
			continue
		}
		c, err := contentAt(b, v.Contents, f.Where)
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		left--
		if err := f.from(b, files, c); err != nil {
			return err
		}
	}
	return nil
}

// contentAt returns the file of a folder that a finding is about. It is nil if that is in an
// archive, whose contents have "!" in their names, or if offsets in such a file are not those of
// its bytes.
func contentAt(b *limits.Budget, contents []gate.Content, where string) (*gate.Content, error) {
	for i := range contents {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		c := &contents[i]
		inside, ok := strings.CutPrefix(where, wire.Quote(c.Name)) // and the place in the file
		if ok && asTheyLie[c.Format] && !strings.Contains(c.Name, "!") && (inside == "" || strings.HasPrefix(inside, ": ")) {
			return c, nil
		}
	}
	return nil, nil
}

// from adds the bytes of a file of a folder.
func (f *Finding) from(b *limits.Budget, files fs.FS, c *gate.Content) error {
	file, err := files.Open(c.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	if at, ok := file.(io.ReaderAt); ok && *f.Offset < c.Size {
		return f.add(b, at, c.Size)
	}
	return nil
}

// bytes adds the bytes at the findings' offsets.
func (r *Report) bytes(b *limits.Budget, src io.ReaderAt, size int64) error {
	left := maxEvidence
	for k := range r.Verdict.Findings {
		f := &r.Verdict.Findings[k]
		if f.Offset == nil || *f.Offset >= size || left == 0 {
			continue
		}
		left--
		if err := f.add(b, src, size); err != nil {
			return err
		}
	}
	return nil
}

// add adds the bytes at the finding's offset.
func (f *Finding) add(b *limits.Budget, src io.ReaderAt, size int64) error {
	from := max(0, *f.Offset-*f.Offset%rowBytes-bytesBefore)
	data, err := limits.Make[byte](b, int(min(bytesShown, size-from)))
	if err != nil {
		return err
	}
	n, err := src.ReadAt(data, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	f.From, f.Bytes = from, data[:n]
	return nil
}

// program lists a pickle. An error about the pickle ends the listing: it is a finding already.
func program(b *limits.Budget, src io.ReaderAt, from *pth.Pickle) (Program, error) {
	p := Program{Pickle: wire.Text(from.Name, 256), Lines: []Line{}}
	var before []Line // the last instructions that are not in the list
	var skipped int64
	after := maxLines / 2 // how many are still listed
	for l, err := range from.Lines(b, src) {
		if c := wire.ClassOf(err); c == wire.Limit || c == wire.Internal {
			return p, err
		} else if err != nil {
			break
		}
		if err := b.Items(1); err != nil {
			return p, err
		}
		line := Line{Offset: l.Off, Depth: l.Depth, Op: wire.Text(l.Op, 32), Text: wire.Text(strings.TrimSpace(l.Text), 256), Refused: l.Bad}
		if len(p.Lines) >= maxLines {
			skipped++
			continue
		}
		if line.Refused {
			if len(before) > 0 {
				before[0].Skipped = skipped - int64(len(before))
				p.Lines = append(p.Lines, before...)
				before, skipped = nil, 0
			}
			after = max(after, linesAfter+1)
		}
		if after > 0 {
			after--
			line.Skipped, skipped = skipped, 0
			p.Lines = append(p.Lines, line)
			continue
		}
		skipped++
		if before = append(before, line); len(before) > linesBefore {
			before = append([]Line{}, before[1:]...)
		}
	}
	p.Left = skipped
	return p, nil
}
