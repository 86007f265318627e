package fuzz_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/hdf5"
)

// lengths returns every length below size in a whole search, or 1,000 of them with all
// near both ends; fewer if each is slow.
func lengths(size int) []int {
	all, dense, spread := effort.Of(128, 4096), effort.Of(32, 200), effort.Of(50, 800)
	if effort.Race {
		all, dense, spread = 100, 20, 60
	}
	var out []int
	for n := range size {
		if size <= all || n < dense || size-n <= dense || n%(size/spread+1) == 0 {
			out = append(out, n)
		}
	}
	return out
}

func TestNoPrefixOfAnHonestFileIsAccepted(t *testing.T) {
	for _, f := range formats {
		name := f.name
		for _, file := range valid(t, name) {
			for _, n := range lengths(len(file.data)) {
				b := file.policy.Budget(t.Context())
				_, _, err := examine(b, f, file.data[:n])
				b.Close()
				if err == nil && (endsAnywhere(name, file.name) || sameContents(t, f, file, file.data[:n])) {
					continue
				}
				if isUntold(name, file.data[:n]) && wire.ClassOf(err) == wire.Unsupported {
					continue
				}
				if err == nil && name == "tflite" && isArchive(file.data[n:]) {
					continue // the model without the archive of its metadata
				}
				if err == nil && openEnd(f) && sameCore(t, f, file, file.data[:n], int64(n)) {
					continue
				}
				if c := wire.ClassOf(err); c != wire.Malformed && c != wire.Truncated {
					t.Errorf("%s/%s cut to %d of %d bytes: class %v: %v", name, file.name, n, len(file.data), c, err)
					break
				}
				if fault := fuzz.Placed(err, int64(n)); fault != nil {
					t.Errorf("%s/%s cut to %d bytes: %v", name, file.name, n, fault)
					break
				}
			}
		}
	}
}

// isArchive reports whether bytes are a ZIP archive, from their beginning to their end.
func isArchive(data []byte) bool {
	_, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	return err == nil && bytes.HasPrefix(data, []byte("PK\x03\x04"))
}

// isUntold reports the beginning of a file by which its kind is not told: the gate needs
// the whole signature of HDF5.
func isUntold(format string, data []byte) bool {
	return format == "hdf5" && len(data) < len(hdf5.Magic)
}

// endsAnywhere reports files that may end between two of their parts: fields of protobuf,
// which has no end, and concatenated streams.
func endsAnywhere(format, file string) bool {
	return format == "onnx" || format == "wrap" && (strings.HasPrefix(file, "two.") || strings.HasPrefix(file, "bzip2-tables."))
}

// sameContents reports whether a wrapper lacks only padding: tar's zeros.
func sameContents(t *testing.T, f format, file file, data []byte) bool {
	t.Helper()
	read := func(data []byte) wrapped {
		b := file.policy.Budget(t.Context())
		defer b.Close()
		o, err := f.decode(b, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Errorf("%s/%s as %d bytes: %v", file.format, file.name, len(data), err)
		}
		w, _ := o.(wrapped)
		return w
	}
	return f.name == "wrap" && slices.Equal(read(data).contents, read(file.data).contents)
}

// openEnd reports a format whose file may end before its last padding, or in a tensor of
// unknown type, which extends to the end.
func openEnd(f format) bool { return f.name == "gguf" }

// sameCore reports whether bytes with another end mean the same as the file: the
// difference is padding, or belongs to a tensor of unknown size.
func sameCore(t *testing.T, f format, file file, data []byte, size int64) bool {
	t.Helper()
	read := func(data []byte, size int64) string {
		b := file.policy.Budget(t.Context())
		defer b.Close()
		a, err := f.target.Read(b, bytes.NewReader(data), size)
		if err != nil {
			t.Errorf("%s/%s as %d bytes: %v", file.format, file.name, size, err)
		}
		return a.Core
	}
	return read(data, size) == read(file.data, int64(len(file.data)))
}

// maxFlips bounds the bit flips for one format. The race detector makes each ten times as
// slow.
func maxFlips() int {
	if effort.Race {
		return 2_000
	}
	return effort.Of(1_000, 20_000)
}

// flips returns bits to flip: all of a small file, else those of its beginning and as many
// of the rest.
func flips(size, most int) []int {
	dense := most / 2
	step := max(1, (8*size-dense)/dense|1)
	var out []int
	for i := range 8 * size {
		if i < dense || i%step == 0 {
			out = append(out, i)
		}
	}
	return out
}

func TestABitFlipIsRefusedOrMeansWhatItSays(t *testing.T) {
	for _, f := range formats {
		files := valid(t, f.name)
		accepted, flipsDone := 0, 0
		for _, file := range files {
			data := bytes.Clone(file.data)
			if len(data) > corpus.MaxSeed {
				continue // its header is no other than that of a small one
			}
			for _, i := range flips(len(data), max(maxFlips()/len(files), effort.Of(16, 64))) {
				data[i/8] ^= 1 << (i % 8)
				ok, err := flipped(f, data, file.policy)
				data[i/8] ^= 1 << (i % 8)
				if err != nil {
					t.Errorf("%s/%s, bit %d of byte %#x: %v", f.name, file.name, i%8, i/8, err)
					break
				}
				flipsDone++
				if ok {
					accepted++
				}
			}
		}
		t.Logf("%s: %d of %d flips accepted", f.name, accepted, flipsDone)
	}
}

// flipped decodes data and, if it is accepted, writes and decodes it again.
func flipped(f format, data []byte, policy limits.Policy) (accepted bool, err error) {
	b := policy.Budget(context.Background())
	defer b.Close()
	_, structure, _ := examine(b, f, data)
	if structure != nil {
		return false, fuzz.Placed(structure, int64(len(data)))
	}
	if f.target == nil {
		return true, nil
	}
	target := *f.target
	target.Policy = &policy
	return true, target.Rewritten(data)
}

func TestFaultyReadersEndInTruncatedOrTheirOwnError(t *testing.T) {
	for _, f := range formats {
		name := f.name
		for _, file := range valid(t, name) {
			size := int64(len(file.data))
			for _, n := range lengths(len(file.data)) {
				if n%effort.Of(17, 7) != 0 && n > 64 {
					continue
				}
				faulty(t, f, file, "an error after n bytes", fuzz.Failing{Data: file.data, After: int64(n)}, size, fuzz.ErrDisk)
				faulty(t, f, file, "an end after n bytes", fuzz.Sliced{Data: file.data[:n], Most: 100}, size, wire.ErrTruncated)
			}
			faulty(t, f, file, "no byte and no error", fuzz.Stuck{}, size, io.ErrNoProgress)
		}
	}
}

// faulty reads a file through a reader that cannot return all of it.
func faulty(t *testing.T, f format, file file, what string, r io.ReaderAt, size int64, want error) {
	t.Helper()
	b := file.policy.Budget(t.Context())
	defer b.Close()
	m, err := f.decode(b, r, size)
	if err == nil {
		defer m.Close()
		if err = m.Verify(b); err == nil {
			return // what is missing was not asked for
		}
	}
	if !errors.Is(err, want) {
		t.Errorf("%s/%s, %s of %d: %v", file.format, file.name, what, size, err)
	}
}

// A size that is not the reader's: too small is a prefix, too large has an end
// that cannot be read.
func TestAWrongSizeIsRefused(t *testing.T) {
	for _, f := range formats {
		name := f.name
		for _, file := range valid(t, name) {
			for _, extra := range []int64{1, 2, 22, 1 << 20, 1 << 40, 1<<63 - 1 - int64(len(file.data))} {
				b := file.policy.Budget(t.Context())
				m, err := f.decode(b, bytes.NewReader(file.data), int64(len(file.data))+extra)
				if err == nil {
					err = m.Verify(b)
					m.Close()
				}
				b.Close()
				if err == nil && openEnd(f) && (hasUnknown(m) || sameCore(t, f, file, file.data, int64(len(file.data))+extra)) {
					continue
				}
				c := wire.ClassOf(err)
				if c == wire.Limit && extra >= 1<<20 {
					continue // a pickle is charged whole before it is read
				}
				if c != wire.Malformed && c != wire.Truncated {
					t.Errorf("%s/%s as %d bytes more: class %v: %v", name, file.name, extra, c, err)
				}
			}
		}
	}
}
