package tensor

import (
	"errors"
	"io"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A Placer is a model that can be told where it came from. [File] and [Sharded]
// are; whoever opened the file calls it once, before anyone else sees the model.
type Placer interface {
	// Place gives the model its sibling files and one more thing to close.
	Place(folder fs.FS, c io.Closer)
	// Placed is what Place was given to close.
	Placed() io.Closer
	// Note adds a finding about the file as a whole, or returns the refusal of
	// the policy.
	Note(*limits.Budget, Finding) error
}

// A Piece is a model that may be one file of a set, opened by itself. [File] is.
type Piece interface {
	// PieceOf sets the number of files of the set; the opener knows it from the name.
	PieceOf(files int)
	// Pieces is that number, 0 for a file that is a model by itself.
	Pieces() int
}

// A Neighbor is a model whose folder may hold others. [File] is.
type Neighbor interface {
	// Beside says how the others are read; whoever opened the file knows its folder.
	Beside(read func(*limits.Budget, func(file string, m Model) error) error)
	// Others calls each with the name of every other file of the format in the
	// folder and with the model in it, which ends with the call. A file that is no
	// model is left out. Without a folder there are none.
	Others(b *limits.Budget, each func(file string, m Model) error) error
}

// PieceOf implements [Piece].
func (f *File) PieceOf(files int) { f.pieces = files }

// Pieces implements [Piece].
func (f *File) Pieces() int { return f.pieces }

// Beside implements [Neighbor].
func (f *File) Beside(read func(*limits.Budget, func(file string, m Model) error) error) {
	f.beside = read
}

// Others implements [Neighbor].
func (f *File) Others(b *limits.Budget, each func(file string, m Model) error) error {
	if f.beside == nil {
		return nil
	}
	return f.beside(b, each)
}

// Place implements [Placer].
func (f *File) Place(folder fs.FS, c io.Closer) {
	f.Folder, f.Closer = folder, both{f.Closer, c}
}

// Placed implements [Placer].
func (f *File) Placed() io.Closer { return outermost(f.Closer) }

// Note implements [Placer].
func (f *File) Note(b *limits.Budget, found Finding) error { return f.Found.Add(b, f.Name, found) }

// Place implements [Placer].
func (s *Sharded) Place(folder fs.FS, c io.Closer) {
	s.Folder, s.Closer = folder, both{s.Closer, c}
}

// Placed implements [Placer].
func (s *Sharded) Placed() io.Closer { return outermost(s.Closer) }

// Note implements [Placer].
func (s *Sharded) Note(b *limits.Budget, found Finding) error {
	return s.Found.Add(b, s.Format(), found)
}

// FileNames lists the files of the set in the order of [Info.Part].
func (s *Sharded) FileNames() []string { return s.Files }

// IndexName returns the name of the index that lists the files, "" for none.
func (s *Sharded) IndexName() string { return s.Index }

// First returns the first file, which is where formats keep what is said once.
func (s *Sharded) First() Model { return s.Parts[0] }

func outermost(c io.Closer) io.Closer {
	if b, ok := c.(both); ok {
		return b.b
	}
	return nil
}

// both closes two things; either may be nil.
type both struct{ a, b io.Closer }

func (c both) Close() error {
	var errs [2]error
	for i, c := range [...]io.Closer{c.a, c.b} {
		if c != nil {
			errs[i] = c.Close()
		}
	}
	return errors.Join(errs[:]...)
}
