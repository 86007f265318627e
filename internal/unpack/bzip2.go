package unpack

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/bzip2"
)

var openBzip2 = opener{func(s *source) (io.Reader, error) { return bzip2.NewReader(s.b, s), nil }, bzip2.Held, false}
