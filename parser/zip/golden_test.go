package zip_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/zip"
	"github.com/google/go-cmp/cmp"
)

// golden is one member as Python's zipfile reads it.
type golden struct {
	Name   string `json:"name"`
	Method int    `json:"method"`
	Flags  int    `json:"flags"`
	Size   int64  `json:"size"`
	Comp   int64  `json:"comp"`
	CRC    uint32 `json:"crc"`
	Header int64  `json:"header"`
	SHA256 string `json:"sha256"`
}

func TestArchivesReadAsZipfileReadsThem(t *testing.T) {
	text, err := os.ReadFile("testdata/expect.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]golden
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for _, seed := range corpus.Valid("zip") {
		if seed.Recipe != nil {
			continue
		}
		t.Run(seed.Name, func(t *testing.T) {
			if _, ok := want[seed.Name]; !ok {
				t.Fatal("not in expect.json")
			}
			b := account(t, nil)
			a, err := zip.Decode(b, bytes.NewReader(seed.Data), int64(len(seed.Data)), zip.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := []golden{}
			for i, m := range a.Members {
				sum := sha256.Sum256(read(t, a, i))
				got = append(got, golden{m.Name, int(m.Method), int(m.Flags), m.Size, m.Comp, m.CRC, m.HeaderOff, hex.EncodeToString(sum[:])})
			}
			if diff := cmp.Diff(want[seed.Name], got); diff != "" {
				t.Error(diff)
			}
			if err := a.Verify(b); err != nil {
				t.Error(err)
			}
		})
	}
}

func read(t testing.TB, a *zip.Archive, i int) []byte {
	t.Helper()
	r, err := a.Open(account(t, nil), i)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Honest files that the reference writers do not make.
func TestRecipesOfHonestArchivesAreAccepted(t *testing.T) {
	for _, seed := range corpus.Valid("zip") {
		if seed.Recipe == nil {
			continue
		}
		b := account(t, seed.Recipe.Policy)
		a, err := zip.Decode(b, bytes.NewReader(seed.Data), int64(len(seed.Data)), zip.Options{})
		if err == nil {
			err = a.Verify(b)
		}
		if err != nil {
			t.Errorf("%s: %v", seed.Name, err)
		}
	}
}

// Archives that PyTorch writes are read by the rules of PyTorch's format.
func TestPyTorchArchivesAreRead(t *testing.T) {
	read := 0
	for _, seed := range corpus.Valid("pth") {
		if !bytes.HasPrefix(seed.Data, []byte("PK")) {
			continue
		}
		b := account(t, nil)
		a, err := zip.Decode(b, bytes.NewReader(seed.Data), int64(len(seed.Data)), zip.Options{Format: "pth", StoredOnly: true})
		if err == nil {
			err = a.Verify(b)
		}
		if err != nil {
			t.Errorf("%s: %v", seed.Name, err)
			continue
		}
		read++
		for i := range a.Members {
			if m := &a.Members[i]; seed.Recipe == nil && m.Size > 0 && m.DataOff%64 != 0 {
				t.Errorf("%s: %q lies at %#x", seed.Name, m.Name, m.DataOff)
			}
		}
	}
	if read == 0 {
		t.Error("no archive of PyTorch in the corpus")
	}
}

// Every shorter file is refused; none as if the disk had failed.
func TestEveryPrefixIsRefused(t *testing.T) {
	for _, seed := range corpus.Valid("zip") {
		if len(seed.Data) > 64<<10 {
			continue
		}
		for n := range seed.Data {
			_, err := zip.Decode(account(t, nil), bytes.NewReader(seed.Data[:n]), int64(n), zip.Options{})
			if class := wire.ClassOf(err); class != wire.Truncated && class != wire.Malformed {
				t.Errorf("%s: the first %d bytes: %v, %v", seed.Name, n, class, err)
			}
		}
	}
}
