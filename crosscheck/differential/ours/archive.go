package main

import (
	"bytes"
	"io"

	"github.com/anamnesis-go/anamnesis/crosscheck/values"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

const zipFormat = "zip"

// largest is the member whose bytes are compared, too.
const largest = 1 << 20

// archive reads the file as a ZIP archive, whatever lies in it: each member is a
// row of its name, its size and the digest of its bytes.
func (s *said) archive(b *limits.Budget, data []byte) {
	s.Format = zipFormat
	s.end(s.members(b, data))
}

func (s *said) members(b *limits.Budget, data []byte) error {
	a, err := zip.Decode(b, bytes.NewReader(data), int64(len(data)), zip.Options{Format: zipFormat, ExactCase: true})
	if err != nil {
		return err
	}
	if err := a.Verify(b); err != nil {
		return err
	}
	for i := range a.Members {
		m := &a.Members[i]
		row := listed{m.Name, "member", []int64{m.Size}, nil}
		if m.Size < largest {
			r, err := a.Open(b, i)
			if err != nil {
				return err
			}
			body, err := io.ReadAll(r)
			if r.Close(); err != nil {
				return err
			}
			row[3] = values.Digest(body)[:16]
		}
		s.Tensors = append(s.Tensors, row)
	}
	return nil
}
