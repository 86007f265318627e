package main

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

// unlooked counts the bytes that a command reads between two looks at its context.
type unlooked struct {
	io.ReaderAt

	now, most *atomic.Int64
}

func (u unlooked) ReadAt(p []byte, off int64) (int, error) {
	n, err := u.ReaderAt.ReadAt(p, off)
	if now := u.now.Add(int64(n)); now > u.most.Load() {
		u.most.Store(now)
	}
	return n, err
}

// mostUnlooked is how much any command reads without a look. Time is not asserted: the tool
// prints it, see "longest without a look" in docs/performance.md.
const mostUnlooked = 256 << 10

// Every command looks at its context, and so at its deadline, before it has read much more,
// whatever the file holds: one number, one text, one line, one member, a stream.
func TestNoCommandReadsFarWithoutALook(t *testing.T) {
	var list []*input
	add := func(name string, data string) {
		list = append(list, &input{name: name, format: "large", data: []byte(data)})
	}
	const n = 1 << 20
	x := strings.Repeat("x", n)
	for name, frame := range map[string][2]string{
		"text.json": {`{"a":"`, `"}`}, "key.json": {`{"`, `":1}`}, "a.yaml": {`a: "`, "\"\n"}, "a.txt": {}, "a.jinja": {"{{ ", " }}"}, "vocab.txt": {},
		"line.pkl": {"S'", "'\n."}, "unicode.pkl": {"V", "\n."}, "text.pkl": {"\x80\x02X\x00\x00\x10\x00", "."}, "bytes.pkl": {"\x80\x03B\x00\x00\x10\x00", "."}, "a.safetensors": {"\x00\x00\x10\x00\x00\x00\x00\x00{\"", ""},
	} {
		add(name, frame[0]+x+frame[1])
	}
	for _, s := range []string{"1", "\\u0041", "[", "- ", "{{ a }}", "import os\n", "\x00", "]0", "\x8c\x01a0", "\x0a\x02", "<a>"} {
		for _, name := range []string{"a.json", "a.yaml", "a.py", "a.pkl"} {
			add(name, strings.Repeat(s, n/len(s)))
		}
	}
	add("number.json", `{"a":`+strings.Repeat("1", n)+"}")
	for _, p := range packers {
		add("a"+p.ext, string(p.pack(bytes.Repeat([]byte("ab"), n))))
	}
	add("a.zip", string(zipped(500, bytes.Repeat([]byte("x"), n/500), zip.Deflate)))
	add("a.tar", string(members(500, bytes.Repeat([]byte("x"), n/500))))
	for _, in := range list {
		var now, most atomic.Int64
		in.through = func(r io.ReaderAt) io.ReaderAt { return unlooked{r, &now, &most} }
		for i := range commands {
			c, looked := &commands[i], int64(0)
			if c.name != "scan" && c.name != "hash" {
				continue
			}
			now.Store(0)
			most.Store(0)
			c.under(in, func() { looked++; now.Store(0) })
			if got := most.Load(); got > mostUnlooked {
				t.Errorf("%s of %s, %.12q of %d bytes: %d bytes are read without a look", c.name, in.name, in.data, len(in.data), got)
			}
			if looked == 0 {
				t.Errorf("%s of %s looks at nothing", c.name, in.name)
			}
		}
	}
}
