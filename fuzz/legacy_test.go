package fuzz_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/fuzz"
)

// FuzzLegacy tests the reader with files of five pickles: any bytes, and planned files
// with a few bytes changed.
func FuzzLegacy(f *testing.F) {
	for _, s := range corpus.Valid("pth") {
		if strings.Contains(s.Name, "legacy") {
			f.Add(s.Data)
		}
	}
	for _, r := range corpus.Hostile("pth") {
		if strings.HasPrefix(r.Name, "legacy") {
			f.Add(r.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pthTarget.Check(t, data)
		agree(t, data)
		whole := fuzz.NewCheckpoint(data, true).Legacy()
		pthTarget.Check(t, whole)
		agree(t, whole)
		// One byte of the finished file is changed: no checksum protects
		// the machine here.
		if len(data) > 2 {
			at := (int(data[0])<<8 | int(data[1])) % len(whole)
			whole[at] ^= data[2] | 1
			pthTarget.Check(t, whole)
			agree(t, whole)
		}
	})
}
