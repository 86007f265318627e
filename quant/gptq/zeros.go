package gptq

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/autoround"
)

// zeroVersion returns what the configuration says about GPTQ's zero points, and the words
// that say so: "v1", which stores them minus one and is the default, or "v2".
func zeroVersion(s *scheme.Set) (version, said string, err error) {
	q := s.Config.Quant
	if autoround.Wrote(s) {
		format := q.Get("packing_format").String()
		if format == "" {
			format = q.Get("backend").String()
		}
		switch {
		case strings.Contains(format, "gptqmodel"):
			return "v2", format, nil
		case strings.Contains(format, "gptq"), format == "":
			return "v1", format, nil
		case strings.HasPrefix(format, "auto_round"), strings.HasPrefix(format, "autoround"):
			return "v2", format, nil
		}
		return "", "", wire.ErrUnsupported.Errorf("AutoRound's packing format %s", wire.Quote(format))
	}
	format := q.Get("checkpoint_format").String()
	if format == "" {
		format = q.Get("format").String()
	}
	switch format {
	case "", "gptq":
		return "v1", format, nil
	case "gptq_v2":
		return "v2", format, nil
	}
	return "", "", wire.ErrUnsupported.Errorf("checkpoint format %s", wire.Quote(format))
}

// oldZeros reports whether zero points are of the first version. Symmetric codes have all
// zero points in the middle, so the stored ones tell the version; if they contradict the
// configuration, only the caller can decide. If the configuration says that codes are
// symmetric, all zero points must be in the middle: it returns them as all, to be
// compared with the stored ones before the weight is decoded.
func oldZeros(s *scheme.Set, stem string, bits int64, zeros *tensor.Info) (old bool, all *middleZeros, err error) {
	if v := s.Options.GPTQZeros; v != "" {
		return v == "v1", nil, nil
	}
	version, said, err := zeroVersion(s)
	if err != nil {
		return false, nil, err
	}
	own, err := s.Own(stem)
	if err != nil {
		return false, nil, err
	}
	old = version == "v1"
	sym, ok := config.First(own.Get("sym"), s.Config.Quant.Get("sym")).Bool()
	if ok && !sym {
		return old, nil, nil
	}
	p, err := s.Prefix(zeros, min(zeros.Span.Len, zeroSample))
	if err != nil {
		return false, nil, err
	}
	is, other := middleOf(bits, old).fills(p), middleOf(bits, !old).fills(p)
	switch {
	case is && sym:
		return old, &middleZeros{zeros: *zeros, file: s.Config.File, fields: middleOf(bits, old)}, nil
	case sym && !other:
		return false, nil, notMiddle(s.Config.File, zeros)
	case !other || !sym && int64(len(p))*8 < zeroCount*bits:
		return old, nil, nil
	case said == "":
		said = "no format"
	}
	stored := "v1"
	if old {
		stored = "v2"
	}
	return false, nil, wire.ErrUnsupported.Errorf("two readings: %s says %s, which is %s, and every zero point in %s is %s's: %s v1 or v2 decides",
		s.ConfigName(), wire.Quote(said), version, wire.Quote(zeros.Name), stored, wire.OptionGPTQZeros)
}

// zeroSample is how many bytes of zero points are read to bind a weight. zeroCount is how
// many equal zero points are not an accident.
const (
	zeroSample = 4 << 10
	zeroCount  = 32
)

// fields are eight equal fields of some bits. Rows of zero points are whole words and
// multiples of eight fields, so a tensor of equal zero points repeats these bytes.
type fields []byte

// middleOf returns the zero point of symmetric codes as a version stores it.
func middleOf(bits int64, old bool) fields {
	value := uint64(1) << (bits - 1)
	if old {
		value--
	}
	var all uint64
	for i := range 8 {
		all |= value << (int64(i) * bits)
	}
	return binary.LittleEndian.AppendUint64(nil, all)[:bits]
}

// fills reports whether p repeats the fields.
func (f fields) fills(p []byte) bool {
	n := min(len(f), len(p))
	return bytes.Equal(p[:n], f[:n]) && bytes.Equal(p[n:], p[:len(p)-n])
}

// middleZeros are zero points that should be the middle of the codes, according to a
// configuration.
type middleZeros struct {
	zeros  tensor.Info
	file   string // the file that says so
	fields fields
	held   atomic.Bool
}

// notMiddle returns the error for other zero points.
func notMiddle(file string, zeros *tensor.Info) error {
	return wire.ErrUnsupported.Errorf("two readings: %s says sym true, but zero points in %s are not the middle of the codes, which symmetric kernels assume: %s v1 or v2 reads the stored ones",
		file, wire.Quote(zeros.Name), wire.OptionGPTQZeros)
}

// zeroBytes is how much of the zero points is compared at once, a multiple of every width
// of a field.
const zeroBytes = 8 * 9 * 5 * 7 * 16

// Check compares all of the zero points, once.
func (z *middleZeros) Check(b *limits.Budget, m tensor.Model) error {
	if z.held.Load() {
		return nil
	}
	release, err := b.Lease(zeroBytes)
	if err != nil {
		return err
	}
	defer release()
	body, err := m.Body(b, z.zeros)
	if err != nil {
		return err
	}
	defer body.Close()
	for p, left := make([]byte, zeroBytes), z.zeros.Span.Len; left > 0; left -= int64(len(p)) {
		p = p[:min(int64(len(p)), left)]
		if err := b.Step(int64(len(p)) / 64); err != nil {
			return err
		}
		if _, err := io.ReadFull(body, p); err != nil {
			return err
		}
		if !z.fields.fills(p) {
			return notMiddle(z.file, &z.zeros)
		}
	}
	z.held.Store(true)
	return nil
}
