package tensor_test

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// streams is a file system whose files can only be read in order.
type streams struct{ fs.FS }

func (s streams) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return struct{ fs.File }{f}, err
}

// A file is opened if it lies in the folder and can be read at any offset.
func TestSpecialFilesAndFilesOutsideAreNotOpened(t *testing.T) {
	files := fstest.MapFS{"a": {Data: []byte("a")}, "d/b": {}, "pipe": {Mode: fs.ModeNamedPipe}}
	for name, want := range map[string]struct {
		in   fs.FS
		rule string
	}{
		"a": {files, ""}, "../a": {files, "file.path-escape"}, "/a": {files, "file.path-escape"}, "d": {files, "file.not-regular"}, "pipe": {files, "file.not-regular"},
		"d/b": {streams{files}, "file.not-regular"},
	} {
		h, err := tensor.OpenFile(want.in, name)
		if wire.RuleOf(err) != want.rule || (err == nil) != (want.rule == "") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if st, err := h.Stat(); err != nil || st.Size() != h.Size {
				t.Errorf("%s: %v, %v", name, st, err)
			}
			h.Close()
		}
	}
	made := tensor.Handle{ReaderAt: strings.NewReader(""), Closer: io.NopCloser(nil)}
	if _, err := made.Stat(); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a handle without a file: %v", err)
	}
}
