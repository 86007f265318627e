package unpack_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// text is what the files of corpus/valid/wrap hold, made here by another program than
// the script there.
func text() []byte {
	var out bytes.Buffer
	for i := range 400 {
		fmt.Fprintf(&out, "%d the quick brown fox %s", i*7919%1000, strings.Repeat("ab", i%40))
	}
	out.Write(make([]byte, 4000))
	return out.Bytes()
}

func noise() (out []byte) {
	for i := range 400 {
		s := sha256.Sum256(fmt.Append(nil, i))
		out = append(out, s[:]...)
	}
	return out
}

// inflated returns the content of a stream.
func inflated(t *testing.T, p limits.Policy, data []byte) ([]byte, error) {
	t.Helper()
	b := p.Budget(t.Context())
	defer b.Close()
	var out []byte
	name := "lzma"
	if bytes.HasPrefix(data, []byte("\xfd7zXZ\x00")) {
		name = "xz"
	}
	k := unpack.Named(name)
	if k == nil {
		t.Fatal("no kind")
	}
	w := b.Whole(int64(len(data)))
	err := k.Walk(w, bytes.NewReader(data), int64(len(data)), func(i unpack.Item) (err error) {
		out, err = io.ReadAll(io.NewSectionReader(i.R, 0, i.Size))
		return err
	})
	w.Close()
	limitstest.NoLeak(t, b)
	return out, err
}

// Files written by liblzma inflate to its input: each check, the least and the
// largest preset, contexts of all kinds, several streams, padding.
func TestStreamsOfLiblzma(t *testing.T) {
	ledger.Charges(t)
	seen := 0
	for _, s := range corpus.Valid("wrap") {
		if !strings.HasSuffix(s.Name, ".xz") && !strings.HasSuffix(s.Name, ".lzma") {
			continue
		}
		want := text()
		if s.Name == "two.xz" {
			want = append(noise(), want...)
		}
		seen++
		if got, err := inflated(t, limits.Policy{}, s.Data); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d: %v", s.Name, len(got), len(want), err)
		}
	}
	if seen < 13 {
		t.Errorf("%d files", seen)
	}
}

// A dictionary takes memory for its content, whatever size the header states, and that memory is
// charged.
func TestADictionaryIsCharged(t *testing.T) {
	for _, s := range corpus.Valid("wrap") {
		if s.Name != "preset-9.xz" && s.Name != "lc0-lp0-pb0.lzma" { // 64 MiB, and 4 KiB
			continue
		}
		data := bytes.Clone(s.Data)
		if s.Name != "preset-9.xz" {
			copy(data[1:], "\xff\xff\xff\xff") // 4 GiB
		}
		if _, err := inflated(t, limits.Policy{MaxTotalBytes: 1 << 20}, data); err != nil {
			t.Errorf("%s under a megabyte: %v", s.Name, err)
		}
		_, err := inflated(t, limits.Policy{MaxTotalBytes: 160 << 10}, data)
		if e, ok := errors.AsType[*limits.Error](err); !ok || e.Axis != limits.Total {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}
