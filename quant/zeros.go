package quant

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// autoRound reports AutoRound's configuration, under both of its names.
func (s *set) autoRound() bool { return strings.HasSuffix(s.config.Method(), "auto-round") }

// zeroVersion is what the configuration says of GPTQ's zero points: "v1", which
// stores them less one and is the default of every file that does not say
// otherwise, or "v2"; and the words that say so.
func (s *set) zeroVersion() (version, said string, err error) {
	q := s.config.Quant
	if s.autoRound() {
		format := q.Text("packing_format")
		if format == "" {
			format = q.Text("backend")
		}
		switch {
		case strings.Contains(format, "gptqmodel"):
			return "v2", format, nil
		case strings.Contains(format, "gptq"), format == "":
			return "v1", format, nil
		case strings.HasPrefix(format, "auto_round"), strings.HasPrefix(format, "autoround"):
			return "v2", format, nil
		}
		return "", "", wire.ErrUnsupported.With("AutoRound's packing format %s", wire.Quote(format))
	}
	format := q.Text("checkpoint_format")
	if format == "" {
		format = q.Text("format")
	}
	switch format {
	case "", "gptq":
		return "v1", format, nil
	case "gptq_v2":
		return "v2", format, nil
	}
	return "", "", wire.ErrUnsupported.With("checkpoint format %s", wire.Quote(format))
}

// oldZeros reports zero points of the first version. Symmetric codes have all
// of them in the middle, so that the stored ones tell the version: where they
// contradict the configuration only the caller can decide.
func (s *set) oldZeros(stem string, f *form.GPTQ, zeros *tensor.Info) (bool, error) {
	if v := s.o.GPTQZeros; v != "" {
		return v == "v1", nil
	}
	version, said, err := s.zeroVersion()
	if err != nil {
		return false, err
	}
	own, err := s.own(stem)
	if err != nil {
		return false, err
	}
	sym, ok := config.First(own.Get("sym"), s.config.Quant.Get("sym")).(bool)
	if ok && !sym {
		return version == "v1", nil
	}
	stored, err := s.middleZeros(f, zeros)
	if err == nil && stored == otherZeros && sym {
		return false, wire.ErrUnsupported.With("two readings: %s says sym true, and zero points in %s are not the middle of the codes, which kernels of symmetric codes take: %s v1 or v2 reads those that are stored",
			s.config.File, wire.Quote(zeros.Name), wire.OptionGPTQZeros)
	}
	if err != nil || stored == "" || stored == otherZeros || stored == version {
		return version == "v1", err
	}
	if said == "" {
		said = "no format"
	}
	return false, wire.ErrUnsupported.With("two readings: %s says %s, which is %s, and every zero point in %s is %s's: %s v1 or v2 decides",
		s.configName(), wire.Quote(said), version, wire.Quote(zeros.Name), stored, wire.OptionGPTQZeros)
}

// configName is the configuration's file, for messages.
func (s *set) configName() string {
	if s.config.File == "" {
		return "the absent configuration"
	}
	return s.config.File
}

// zeroSample is how many bytes of zero points are looked at, and zeroCount how
// many of them make a rule and no accident.
const (
	zeroSample = 4 << 10
	zeroCount  = 32
)

// otherZeros are zero points that are not the middle of the codes.
const otherZeros = "others"

// middleZeros says of which version the zero points are if all that are looked
// at are the middle of the codes; nothing of a few.
func (s *set) middleZeros(f *form.GPTQ, zeros *tensor.Info) (string, error) {
	rows, cols := f.Groups, f.Out
	if bytes := f.Out * f.Bits / 8; bytes > zeroSample {
		rows, cols = 1, zeroSample*8/f.Bits
	} else {
		rows = min(rows, zeroSample/bytes)
	}
	if rows*cols < zeroCount {
		return "", nil
	}
	p, err := s.prefix(zeros, rows*f.Out*f.Bits/8)
	if err != nil {
		return "", err
	}
	raw := *f
	raw.OldZeros = false
	value := raw.Zero(p, 0, 0)
	for i := range rows * cols {
		if raw.Zero(p, i/cols, i%cols) != value {
			return otherZeros, nil
		}
	}
	switch value {
	case 1 << (f.Bits - 1):
		return "v2", nil
	case 1<<(f.Bits-1) - 1:
		return "v1", nil
	}
	return otherZeros, nil
}
