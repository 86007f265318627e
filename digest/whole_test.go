package digest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// file returns a file of a model, whose bytes are counted.
func file(path string, part int32, read *int) digest.File {
	return digest.File{Part: part, Open: func() (io.ReadCloser, error) {
		f, err := os.Open(path)
		return &counted{f, read}, err
	}}
}

type counted struct {
	*os.File
	n *int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	*c.n += n
	return n, err
}

// Whole says the same as Tensors and as hashing the file by itself, and reads a file once.
// again is how many bytes of the model were read besides.
func whole(t *testing.T, path string, data []byte) (list []digest.Tensor, again int64) {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := parser.Open(b, path)
	if err != nil {
		return nil, 0
	}
	defer m.Close()
	want, wantErr := digest.Tensors(b, m, digest.Options{})
	for _, workers := range []int{0, 1, 2, 5} {
		read := 0
		files := []digest.File{file(path, 0, &read)}
		before, _ := parser.Progress(m)
		list, err = digest.Whole(b, m, files, digest.Options{Workers: workers})
		after, _ := parser.Progress(m)
		again = after - before
		if wantErr != nil {
			if err == nil {
				t.Errorf("%s: no error, but %v of Tensors", path, wantErr)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(list, want) {
			t.Errorf("%s, %d workers: %v, %v; by themselves %v", path, workers, list, err, want)
		}
		if files[0].Sum != sha256.Sum256(data) || files[0].Size != int64(len(data)) || read != len(data) {
			t.Errorf("%s, %d workers: %v of %d bytes, %d read, %d expected", path, workers, files[0].Sum, files[0].Size, read, len(data))
		}
	}
	return list, again
}

func TestTensorsAreHashedWithTheirFile(t *testing.T) {
	tensors := 0
	for _, format := range corpus.Formats() {
		for _, seed := range corpus.Valid(format) {
			path := filepath.Join(t.TempDir(), filepath.Base(seed.Name))
			if err := os.WriteFile(path, seed.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			list, _ := whole(t, path, seed.Data)
			tensors += len(list)
		}
	}
	if tensors < 500 {
		t.Errorf("%d tensors were compared", tensors)
	}
}

// A large one: its tensors begin, end and go on in every piece.
func TestTensorsThatAreLongerThanAPiece(t *testing.T) {
	src, header, off := rand.New(rand.NewPCG(1, 2)), map[string]any{}, 0
	var body []byte
	for i := range 400 {
		n := src.IntN(8000)
		if i%50 == 7 {
			n = src.IntN(3 << 20)
		}
		header[fmt.Sprintf("t%03d", i)] = map[string]any{"dtype": "U8", "shape": []int{n}, "data_offsets": []int{off, off + n}}
		off += n
	}
	for len(body) < off {
		body = binary.LittleEndian.AppendUint64(body, src.Uint64())
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	data := slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, body[:off])
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	list, again := whole(t, path, data)
	if len(list) != 400 || again != 0 {
		t.Errorf("%d tensors, %d bytes read again", len(list), again)
	}
}

// What is read again: nothing of dense tensors, also of weights that are tied.
func TestAByteIsReadOnce(t *testing.T) {
	for name, once := range map[string]bool{"a.safetensors": true, "a.npz": true, "a.pt": true, "strided.pt": false, "big.npz": false} {
		path := filepath.Join("testdata", name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if list, again := whole(t, path, data); len(list) == 0 || (again == 0) != once {
			t.Errorf("%s: %d tensors, %d bytes read again", name, len(list), again)
		}
	}
}

// A file that is shorter than its tensors, or cannot be read, has no digest.
func TestFilesThatEndEarly(t *testing.T) {
	data, err := os.ReadFile("testdata/a.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := parser.Open(b, "testdata/a.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, workers := range []int{1, 4} {
		for what, c := range map[string]struct {
			open  func() (io.ReadCloser, error)
			class wire.Class
		}{
			"shorter": {func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data[:len(data)-1])), nil }, wire.Truncated},
			"gone":    {func() (io.ReadCloser, error) { return nil, os.ErrNotExist }, wire.Internal},
		} {
			list, err := digest.Whole(b, m, []digest.File{{Open: c.open}}, digest.Options{Workers: workers})
			if err == nil || wire.ClassOf(err) != c.class || list != nil {
				t.Errorf("%s, %d workers: %v, %v", what, workers, list, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := limits.Policy{}.Budget(ctx)
	defer ended.Close()
	if _, err := digest.Whole(ended, m, []digest.File{{Part: digest.NoPart}}, digest.Options{}); err == nil {
		t.Error("an account that ended")
	}
}
