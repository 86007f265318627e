package lzma

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// alone is what CPython 3.11's lzma.compress(lines, format=FORMAT_ALONE) makes of lines.
const alone = "XQAAgAD//////////wA2GkofCKAmA00GnfoAXUrI+2uDlzHtgAGHdSvjQXO20jLLMrPMnhwconUu4LhIuwp6E8baXWtw9iHxLH/D" +
	"cDU4x8DrNmT4kVdRmfGvxcydllI9RIXbW5jZ4OVBhWB3dI69jGsuqHztMglDkbXC9ZOZ+sWWzvkqh1FgGGi5YN2TpBx1ejQIRS3Y" +
	"oATvx6RAGCOLukMlPnGjGg+/Y7uDYcZjfcoBAKai8Jkhz8+XHZI1Cfj7Ns5v6b7XW2jfvUb2GcPpdCsAi8kkUN2PHpYSG5bSOdOV" +
	"p6q9E3sl6w0Jnn+ZB5yuGjliyMjVwBdiOO8zJmY6auL/hfmiTbaM83VHaGZEzBdIc5lNyD0SeRe8JiT8pUOddX9SgpX0EADrckNi" +
	"/nro003YpmN2TIwCE53LpdowtVQ0xj1+gseQI97DA4mhq1Sp//9cBasA"

func lines() (text []byte) {
	for i := range 400 {
		text = fmt.Appendf(text, "line %d of what a stream holds\n", i)
	}
	return text
}

// A decoder with the memory of another reads as a new one: after a stream that was read,
// one that was cut, one that was corrupt, and one that was left in the middle.
func TestKeptMemoryReadsAsNew(t *testing.T) {
	whole, err := base64.StdEncoding.DecodeString(alone)
	if err != nil {
		t.Fatal(err)
	}
	corrupt := bytes.Clone(whole)
	corrupt[len(corrupt)/2] ^= 0xff
	read := func(p []byte, most int64) (out []byte, err error) {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		held := func() (n int64) {
			for _, u := range b.Usage() {
				if u.Axis == limits.Total {
					n = u.Used
				}
			}
			return n
		}
		d := NewDecoder(b)
		a, err := NewAlone(d, bytes.NewReader(p))
		if err == nil {
			out, err = io.ReadAll(io.LimitReader(a, most))
		}
		d.Close()
		d.Close() // keeps its memory once
		if n := held(); n != 0 {
			t.Errorf("%d bytes are held after Close", n)
		}
		return out, err
	}
	for _, other := range []struct {
		name string
		data []byte
		most int64
	}{{"whole", whole, 1 << 20}, {"cut", whole[:len(whole)/2], 1 << 20}, {"corrupt", corrupt, 1 << 20}, {"left", whole, 5_000}, {"no header", whole[:5], 1}} {
		for len(memories) > 0 {
			<-memories
		}
		first, firstErr := read(other.data, other.most)
		if len(memories) != 1 {
			t.Fatalf("%s: %d memories are kept", other.name, len(memories))
		}
		if out, err := read(whole, 1<<20); err != nil || !bytes.Equal(out, lines()) {
			t.Errorf("after %s: %d bytes, %v", other.name, len(out), err)
		}
		again, againErr := read(other.data, other.most)
		if !bytes.Equal(first, again) || fmt.Sprint(firstErr) != fmt.Sprint(againErr) {
			t.Errorf("%s: %d bytes, %v with new memory, %d bytes, %v with that of another", other.name, len(first), firstErr, len(again), againErr)
		}
	}
}

// The dictionary of a small file is in its decoder's own memory, and the memory that another stream
// left there is not charged.
func TestASmallStreamIsChargedNoDictionary(t *testing.T) {
	b := limits.Policy{MaxTotalBytes: 1}.Budget(t.Context())
	defer b.Close()
	d := NewDecoder(b)
	defer d.Close()
	c := NewChunks(d, strings.NewReader("\x01\x00\x03abcd\x00"), 1<<16)
	if out, err := io.ReadAll(c); err != nil || string(out) != "abcd" {
		t.Errorf("%q, %v", out, err)
	}
}
