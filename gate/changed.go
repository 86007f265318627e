package gate

import (
	"io"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/stamp"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A watch says whether a file is still what it was when its judgement began. A nil watch
// says yes: bytes in memory do not change.
type watch func() error

// watchOpen watches a file that is open, if r is one.
func watchOpen(r io.ReaderAt) watch {
	f, ok := r.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return nil
	}
	was, err := f.Stat()
	if err != nil {
		return func() error { return err }
	}
	return func() error {
		now, err := f.Stat()
		if err != nil {
			return err
		}
		return changed(stamp.Changed(was, now))
	}
}

// modelUnchanged says whether all files of a model are what they were when they were opened.
func modelUnchanged(m tensor.Model) (failed error) {
	parser.EachFile(m, func(was, now fs.FileInfo, err error) {
		if err == nil {
			err = changed(stamp.Changed(was, now))
		}
		if failed == nil {
			failed = err
		}
	})
	return failed
}

// changed returns the refusal of a file that changed, or nil if how is empty.
func changed(how string) error {
	if how == "" {
		return nil
	}
	return wire.At("gate", "", wire.NoOffset, wire.ErrMismatch.WithRule("file.changed").Errorf("the file changed while it was judged: %s", how))
}

// checkUnchanged refuses a file that changed. A forbidden finding stays the reason, because those
// bytes were in the file.
func (v *draft) checkUnchanged() {
	if v.unchanged == nil || v.Class() == wire.Forbidden {
		return
	}
	if err := v.unchanged(); err != nil {
		v.Err, v.Harmless, v.Unlooked, v.Verified = err, "", "", false
	}
}
