package gate_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
)

// counted counts the bytes that are read of a file.
type counted struct {
	*strings.Reader
	read int64
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAt(p, off)
	c.read += int64(n)
	return n, err
}

// arrays is an .npz of a few MiB, half of it compressed.
func arrays(t *testing.T) string {
	t.Helper()
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(rand.IntN(64))
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := range 4 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("a%d.npy", i), Method: uint16(i%2) * zip.Deflate})
		if err == nil {
			_, err = w.Write([]byte("\x93NUMPY\x01\x00\x76\x00" + pad("{'descr': '|u1', 'fortran_order': False, 'shape': (1048576,), }", 117) + "\n"))
		}
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The digest is made of what is read for the verdict: a file is read once with it as
// without, and whatever the order in which its parts are looked at, it is that of the
// file.
func TestDigestsAreComputedWhileTheFileIsRead(t *testing.T) {
	text := fmt.Sprintf(`{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, 1<<21, 1<<21)
	for what, data := range map[string]string{
		"m.npz":         arrays(t),
		"m.pt":          valid(t, "pth", "tied.pt"),
		"m.safetensors": header(uint64(len(text)), text) + strings.Repeat("0123456789abcdef", 1<<17),
		"m.pkl":         "\x80\x02}q\x00.",
		"m.gguf":        valid(t, "gguf", ""),
		"empty":         "",
	} {
		sum := sha256.Sum256([]byte(data))
		var read [2]int64
		for i, g := range []gate.Gate{{}, {Digest: true}} {
			file := &counted{Reader: strings.NewReader(data)}
			b := g.Policy.Limits.Budget(t.Context())
			v, err := g.Check(b, file, int64(len(data)), gate.Hint{Name: what})
			if err != nil {
				t.Fatal(err)
			}
			if read[i] = file.read; g.Digest && v.SHA256 != hex.EncodeToString(sum[:]) {
				t.Errorf("%s: sha256 %s", what, v.SHA256)
			}
			if !v.Accepted() && data != "" {
				t.Errorf("%s: %v", what, v.Err)
			}
			v.Close()
			b.Close()
		}
		const heads = 256 << 10 // parts that are read additionally, and twice
		if most := int64(len(data)) + heads; read[1] > most || read[1] > max(read[0]+heads, most) {
			t.Errorf("%s of %d bytes: %d read, without the digest %d", what, len(data), read[1], read[0])
		}
	}
}

// A file that a store keeps by its digest is read once, too.
func TestNamesThatAreDigestsAreReadOnce(t *testing.T) {
	data := arrays(t)
	sum := sha256.Sum256([]byte(data))
	file := &counted{Reader: strings.NewReader(data)}
	g := gate.Gate{Digest: true}
	b := g.Policy.Limits.Budget(t.Context())
	defer b.Close()
	v, err := g.Check(b, file, int64(len(data)), gate.Hint{Name: "blobs/sha256-" + hex.EncodeToString(sum[:])})
	if err != nil || !v.Accepted() || v.SHA256 != hex.EncodeToString(sum[:]) || file.read > int64(len(data))+256<<10 {
		t.Errorf("%v, %+v, %d bytes read of %d", err, v, file.read, len(data))
	}
	v.Close()
}
