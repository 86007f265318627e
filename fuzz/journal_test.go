package fuzz_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A lost file cannot be read any more after some reads.
type lost struct {
	io.ReaderAt
	left atomic.Int64
}

func (l *lost) ReadAt(p []byte, off int64) (int, error) {
	if l.left.Add(-1) < 0 {
		return 0, errors.New("the connection is lost")
	}
	return l.ReaderAt.ReadAt(p, off)
}

var journalKey = []byte("a key of sixteen")

// goOn converts a model, and goes on with what is there.
func goOn(t testing.TB, source []byte, target string, reads int64, resume bool) error {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	from := &lost{ReaderAt: bytes.NewReader(source)}
	from.left.Store(reads)
	m, err := parser.Decode(b, from, int64(len(source)))
	if err != nil {
		return err
	}
	defer m.Close()
	o := convert.Options{Tile: 256, Threads: 1, NoSync: true, Quant: quant.Options{Target: quant.BF16}}
	if resume {
		o.Resume = &convert.Resume{Key: journalKey, Job: map[string]string{"version": "1"}}
	}
	p, err := convert.NewPlan(b, m, o)
	if err != nil {
		return err
	}
	defer p.Close()
	_, err = p.Write(target, false)
	return err
}

// sealedAgain seals the lines of a journal after its header, as package journal documents it.
func sealedAgain(head, lines []byte) []byte {
	at := bytes.LastIndex(bytes.TrimSuffix(head, []byte("\n")), []byte("h "))
	last, err := hex.DecodeString(string(bytes.TrimSpace(head[at+2:])))
	if err != nil {
		panic(err)
	}
	out := bytes.Clone(head)
	for line := range bytes.Lines(lines) {
		text := bytes.TrimSuffix(line, []byte("\n"))
		h := hmac.New(sha256.New, journalKey)
		h.Write(last)
		h.Write(text)
		last = h.Sum(nil)[:16]
		out = append(append(append(out, text...), ' '), hex.EncodeToString(last)+"\n"...)
	}
	return out
}

// FuzzJournal goes on with journals that hold anything: whole files, or lines that are sealed
// with the right key. What gets the target's name has the bytes of a run that was not
// interrupted, whatever the journal says.
func FuzzJournal(f *testing.F) {
	source, err := os.ReadFile("../testdata/demo/tiny.gguf")
	if err != nil {
		f.Fatal(err)
	}
	dir := f.TempDir()
	whole := filepath.Join(dir, "whole")
	if err := goOn(f, source, whole, 1<<40, false); err != nil {
		f.Fatal(err)
	}
	want, err := os.ReadFile(whole)
	if err != nil {
		f.Fatal(err)
	}
	var partial, journal []byte
	for reads := int64(1); ; reads++ {
		if err := goOn(f, source, filepath.Join(dir, "out"), reads, true); err == nil {
			break
		}
		p, err1 := os.ReadFile(filepath.Join(dir, ".out.amn-partial"))
		j, err2 := os.ReadFile(filepath.Join(dir, ".out.amn-journal"))
		if err1 == nil && err2 == nil {
			partial, journal = p, j
		}
	}
	end := bytes.Index(journal, []byte("\nh "))
	if end < 0 || len(partial) != len(want) {
		f.Fatalf("no journal in %d bytes", len(journal))
	}
	end += 1 + bytes.IndexByte(journal[end+1:], '\n') + 1
	head, body := journal[:end], journal[end:]
	if bytes.Count(body, []byte("\n")) < 3 {
		f.Fatalf("the journal has %d lines", bytes.Count(body, []byte("\n")))
	}
	var lines []byte
	for line := range bytes.Lines(body) {
		lines = append(append(lines, line[:len(line)-34]...), '\n')
	}
	if !bytes.Equal(sealedAgain(head, lines), journal) {
		f.Fatal("the seals are others than those that are documented")
	}
	f.Add(true, lines)
	f.Add(false, journal)
	f.Add(true, []byte("r 0 0 999999 0 0 0 0\n"))
	f.Add(true, []byte("e 0 0 0 0 0 0 0\nr 0 0 1 0 0 0 0\nr 9999999999999999999 0 1 0 0 0 0\n"))
	f.Add(true, append(bytes.Clone(lines), lines...))
	f.Fuzz(func(t *testing.T, sealed bool, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		dir := t.TempDir()
		if sealed {
			data = sealedAgain(head, data)
		}
		for name, content := range map[string][]byte{".out.amn-partial": partial, ".out.amn-journal": data} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := goOn(t, source, filepath.Join(dir, "out"), 1<<40, true)
		got, missing := os.ReadFile(filepath.Join(dir, "out"))
		switch {
		case err == nil && !bytes.Equal(got, want):
			t.Fatal("other bytes")
		case err != nil && missing == nil:
			t.Fatalf("%v, and the target has its name", err)
		case err != nil && !sealed && parser.ClassOf(err) != parser.Usage:
			t.Fatal(err)
		}
	})
}
