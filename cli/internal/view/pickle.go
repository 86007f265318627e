package view

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// listPickles prints the instructions of every pickle in each file.
func listPickles(ctx context.Context, s *run.Run, paths []string) error {
	return eachRaw(ctx, s, paths, false, func(b *limits.Budget, path string, r io.ReaderAt, size int64) error {
		return listFile(s, b, path, r, size)
	})
}

// eachRaw calls list for each file, with its own budget. An error about a file is reported,
// and the next file is listed.
func eachRaw(ctx context.Context, s *run.Run, paths []string, headed bool, list func(b *limits.Budget, path string, r io.ReaderAt, size int64) error) error {
	for i, p := range paths {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if headed {
			if i > 0 {
				s.Out.Line("")
			}
			s.Out.Line("%s:", term.Path(p))
		}
		err := listRaw(ctx, s, p, list)
		s.Count.Note(err)
		if err != nil {
			s.PrintError(p, err)
		}
	}
	return s.Out.Flush()
}

func listRaw(ctx context.Context, s *run.Run, path string, list func(b *limits.Budget, path string, r io.ReaderAt, size int64) error) error {
	r, size, closer, err := openRaw(ctx, s, path)
	if err != nil {
		return err
	}
	defer closer.Close()
	b := s.Policy.Limits.Budget(ctx)
	defer b.Close()
	return list(b, path, r, size)
}

func listFile(s *run.Run, b *limits.Budget, path string, r io.ReaderAt, size int64) error {
	found := pth.Scan(b, r, size)
	for _, p := range found.Pickles {
		if err := listPickle(b.Context(), s, path, r, p); err != nil {
			return err
		}
	}
	return found.Err
}

// openRaw opens a regular file, or standard input.
func openRaw(ctx context.Context, s *run.Run, path string) (io.ReaderAt, int64, io.Closer, error) {
	if path == "-" && !s.StdinTaken {
		s.StdinTaken = true
		return s.Input(ctx)
	}
	h, err := tensor.OpenFile(disk.Dir(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return nil, 0, nil, err
	}
	return h, h.Size, h, nil
}

// listPickle prints one pickle. Errors about the pickle are returned by the scan that found
// it; listPickle returns only those that end the listing.
func listPickle(ctx context.Context, s *run.Run, path string, r io.ReaderAt, p pth.Pickle) error {
	b := s.Policy.Limits.Budget(ctx)
	defer b.Close()
	if s.JSON {
		return jsonListing(s, b, path, r, p)
	}
	if s.Out.Printed {
		s.Out.Line("")
	}
	s.Out.Printed = true
	s.Out.Line("%s: %s, protocol %d", term.Path(path), wire.Clean(p.Name, 256), p.Report.Graph.Protocol())
	s.Out.Line("%8s   %3s %-16s %s", "offset", "top", "instruction", "operand, or what was made (! is refused)")
	var text []byte
	for l, err := range p.Lines(b, r) {
		if err != nil {
			return fatalOnly(err)
		}
		text = l.Append(text[:0])
		s.Out.LineOf(text)
	}
	return nil
}

// fatalOnly returns err if it ends the listing, and nil if it is about the file.
func fatalOnly(err error) error {
	if c := wire.ClassOf(err); c == wire.Internal || c == wire.Limit {
		return err
	}
	return nil
}

// jsonListing writes a listing as cli/schema/pickle.json describes it.
func jsonListing(s *run.Run, b *limits.Budget, path string, r io.ReaderAt, p pth.Pickle) error {
	var failed error
	jsonout.Write(s.Out.Writer, func(o *jsonout.Object) {
		o.Field("schema", "amn.pickle/1")
		o.Text("path", path)
		o.Text("name", p.Name)
		o.Number("offset", p.Off)
		o.Number("protocol", int64(p.Report.Graph.Protocol()))
		o.List("lines", func(add func(func(*jsonout.Object))) {
			for l, err := range p.Lines(b, r) {
				if err != nil {
					failed = err
					return
				}
				add(func(o *jsonout.Object) {
					o.Number("offset", l.Off)
					o.Field("op", l.Op)
					o.Number("depth", int64(l.Depth))
					o.Number("marks", int64(l.Marks))
					o.Field("text", term.Tidy(l.Text, 512))
					if l.Bad {
						o.Field("refused", true)
					}
				})
			}
		})
		if failed != nil {
			o.Field("error", term.Tidy(fault.Text(failed), wire.MaxMessage))
		}
	})
	if _, err := fmt.Fprintln(s.Out); err != nil {
		return err
	}
	return fatalOnly(failed)
}
