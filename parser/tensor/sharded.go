package tensor

import (
	"errors"
	"io"
	"io/fs"
	"iter"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Sharded is several files of one format read as one model. The format has checked what concerns
// the whole set: an index, counts, duplicate names.
type Sharded struct {
	Parts []Model
	// Names of the files, in the order of Parts.
	Files []string
	// Index is the name of the index in Folder that lists the files, "" for none.
	Index string
	// Found holds findings about the set; the parts keep their own.
	Found Findings
	// Folder is the sibling files, or nil.
	Folder fs.FS
	Closer io.Closer // what Close closes besides the parts, or nil

	keeper
}

// Format returns the format of the parts.
func (s *Sharded) Format() string { return s.Parts[0].Format() }

// Len returns the number of tensors in all parts.
func (s *Sharded) Len() int {
	n := 0
	for _, p := range s.Parts {
		n += p.Len()
	}
	return n
}

// Tensors lists the tensors part by part, each with its [Info.Part].
func (s *Sharded) Tensors() iter.Seq[Info] {
	return func(yield func(Info) bool) {
		for part, m := range s.Parts {
			for i := range m.Tensors() {
				i.Part = int32(part)
				if !yield(i) {
					return
				}
			}
		}
	}
}

// Meta lists the metadata of the first part, which is where formats keep it.
func (s *Sharded) Meta() iter.Seq2[string, any] { return s.Parts[0].Meta() }

// Findings lists those of the set, then those of each part.
func (s *Sharded) Findings() []Finding {
	list := append([]Finding(nil), s.Found.All()...)
	for _, p := range s.Parts {
		list = append(list, p.Findings()...)
	}
	return list
}

// Configs returns the sibling files.
func (s *Sharded) Configs() fs.FS {
	if s.Folder == nil {
		return noFiles{}
	}
	return s.Folder
}

// At returns random access to the tensor's bytes.
func (s *Sharded) At(i Info) (io.ReaderAt, bool) { return s.Parts[i.Part].At(i) }

// Body reads the tensor's bytes in order.
func (s *Sharded) Body(b *limits.Budget, i Info) (io.ReadCloser, error) {
	return s.Parts[i.Part].Body(b, i)
}

// Verify verifies every part.
func (s *Sharded) Verify(b *limits.Budget) error {
	for _, p := range s.Parts {
		if v, ok := p.(Verifier); ok {
			if err := v.Verify(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close closes every part, and returns what the set holds to the account.
func (s *Sharded) Close() error {
	defer s.letGo()
	var errs []error
	for _, p := range s.Parts {
		errs = append(errs, p.Close())
	}
	if s.Closer != nil {
		errs = append(errs, s.Closer.Close())
	}
	return errors.Join(errs...)
}
