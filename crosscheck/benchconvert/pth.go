package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// pth is BF16 as torch.save writes it: a pickle of tensors, and their storages
// stored as they are, each at a multiple of 64.
func pth(dir string) (string, error) {
	path := filepath.Join(dir, "bf16.pth")
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	w := &checkpoint{f: f, zip: zip.NewWriter(f)}
	w.add("data.pkl", statePickle(), 1)
	w.add("byteorder", []byte("little"), 1)
	piece := make([]byte, 2*cols*64)
	fill(piece, 1)
	for i := range layers {
		w.add(fmt.Sprintf("data/%d", i), piece, rows/64)
	}
	w.add("version", []byte("3\n"), 1)
	if w.err == nil {
		w.err = w.zip.Close()
	}
	if err := f.Close(); w.err == nil {
		w.err = err
	}
	return path, w.err
}

type checkpoint struct {
	f   io.Seeker
	zip *zip.Writer
	err error
}

// add stores a piece several times over.
func (w *checkpoint) add(name string, piece []byte, times int) {
	if w.err != nil {
		return
	}
	if w.err = w.zip.Flush(); w.err != nil {
		return
	}
	at, err := w.f.Seek(0, io.SeekCurrent)
	if err != nil {
		w.err = err
		return
	}
	name = "archive/" + name
	size := uint64(times * len(piece))
	h := &zip.FileHeader{Name: name, Method: zip.Store, CompressedSize64: size, UncompressedSize64: size}
	for range times {
		h.CRC32 = crc32.Update(h.CRC32, crc32.IEEETable, piece)
	}
	// An extra field that does nothing but move the data.
	pad := (64 - (int(at)+30+len(name)+4)%64) % 64
	h.Extra = append([]byte{'F', 'B', byte(pad), 0}, bytes.Repeat([]byte{'Z'}, pad)...)
	body, err := w.zip.CreateRaw(h)
	for k := 0; k < times && err == nil; k++ {
		_, err = body.Write(piece)
	}
	w.err = err
}

// statePickle is a state_dict of protocol 2.
func statePickle() []byte {
	var p bytes.Buffer
	text := func(s string) {
		p.WriteByte('X')
		binary.Write(&p, binary.LittleEndian, uint32(len(s)))
		p.WriteString(s)
	}
	number := func(n int32) {
		p.WriteByte('J')
		binary.Write(&p, binary.LittleEndian, n)
	}
	p.WriteString("\x80\x02}(")
	for i := range layers {
		text(name(i))
		p.WriteString("ctorch._utils\n_rebuild_tensor_v2\n((")
		text("storage")
		p.WriteString("ctorch\nBFloat16Storage\n")
		text(fmt.Sprint(i))
		text("cpu")
		number(rows * cols)
		p.WriteString("tQ")
		number(0)
		number(rows)
		number(cols)
		p.WriteString("\x86")
		number(cols)
		number(1)
		p.WriteString("\x86\x89ccollections\nOrderedDict\n)RtR")
	}
	p.WriteString("u.")
	return p.Bytes()
}
