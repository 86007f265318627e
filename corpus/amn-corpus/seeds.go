package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"slices"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/output"
)

// replacing are the options of outputs that an earlier run may have written.
var replacing = output.Options{Force: true, NoSync: true}

// seeds writes for each format an archive of its hostile and honest files, named by
// their hashes: the corpus of a fuzzer that does not run F.Add, such as libFuzzer.
func seeds(dir string) error {
	if err := output.MkdirAll(dir); err != nil {
		return err
	}
	for _, format := range corpus.Formats() {
		files := map[string][]byte{}
		add := func(data []byte) {
			if sum := sha256.Sum256(data); len(data) <= corpus.MaxSeed {
				files[hex.EncodeToString(sum[:])] = data
			}
		}
		for _, r := range corpus.Hostile(format) {
			data, err := r.Build()
			if err != nil {
				return err
			}
			add(data)
		}
		for _, s := range corpus.Valid(format) {
			add(s.Data)
		}
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
			if err != nil {
				return err
			}
			if _, err := w.Write(files[name]); err != nil {
				return err
			}
		}
		if err := z.Close(); err != nil {
			return err
		}
		if err := output.WriteFile(filepath.Join(dir, format+".zip"), out.Bytes(), replacing); err != nil {
			return err
		}
	}
	return nil
}
