package keras

import (
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

var errSizes = wire.ErrMismatch.WithRule("keras.sizes")

// weighed are the members of layers that are a dimension of their weights.
var weighed = map[string]bool{
	"units": true, "filters": true, "nb_filter": true, "input_dim": true, "output_dim": true, "depth_multiplier": true, "kernel_size": true,
	"num_heads": true, "key_dim": true, "value_dim": true, "head_dim": true, "num_query_heads": true, "num_key_value_heads": true,
}

// counted are the members whose numbers make no array: identities, seeds, and steps of training.
var counted = map[string]bool{"shared_object_id": true, "seed": true, "random_seed": true, "decay_steps": true, "first_decay_steps": true, "warmup_steps": true, "initial_step": true, "save_freq": true, "salt": true}

// inputs are the members that say the shape of an input.
var inputs = map[string]bool{"batch_shape": true, "batch_input_shape": true, "input_shape": true, "build_input_shape": true, "shape": true, "target_shape": true}

const (
	// maxSize bounds a size that no weight has: the classes of an encoding, the repeats of a vector.
	maxSize = 1 << 20
	// maxShape bounds the elements of a shape: more than a video of a minute has.
	maxShape = 1 << 30
	// maxUnweighed bounds a dimension of weights that none of the stored ones has: that of a layer which
	// was not built before the model was saved.
	maxUnweighed = 256
	// MaxConfig bounds a configuration, in bytes.
	MaxConfig = 64 << 20
)

// sizes checks that the numbers of a configuration follow from the weights: Keras makes a layer of any
// size before it compares the weights with it.
type sizes struct {
	d    *strictjson.Decoder
	dims map[int64]bool // of all weights
}

// sized checks the configuration of an archive.
func (f *File) sized(b *limits.Budget) error {
	at := -1
	steps := b.Steps()
	for i := range f.archive.Members {
		if err := steps.Step(); err != nil {
			return wire.At(Format, "", wire.NoOffset, err)
		}
		if f.archive.Members[i].Name == config {
			at = i
		}
	}
	m := &f.archive.Members[at]
	if m.Size > MaxConfig {
		return wire.At(Format, zip.Where(at, m.Name), m.DataOff, errSizes.Errorf("a configuration of %d bytes", m.Size))
	}
	text, err := f.text(b, at, m)
	if err != nil {
		return err
	}
	return Sizes(b, strictjson.Text{Format: Format, Body: text, Off: m.DataOff, Whole: true}, f.Infos)
}

// Sizes checks the numbers of a configuration of Keras against the weights that are stored with it.
func Sizes(b *limits.Budget, text strictjson.Text, weights []tensor.Info) error {
	s := sizes{dims: map[int64]bool{}}
	for i := range weights {
		for _, n := range weights[i].Shape {
			if s.dims[n] {
				continue
			}
			if err := b.Hold(16); err != nil {
				return wire.At(text.Format, "", wire.NoOffset, err)
			}
			s.dims[n] = true
		}
	}
	return strictjson.Decode(b, text, func(d *strictjson.Decoder) error {
		s.d = d
		return s.value("")
	})
}

// text returns the bytes of a member.
func (f *File) text(b *limits.Budget, at int, m *zip.Member) (string, error) {
	if r, stored := f.archive.At(at); stored {
		return strictjson.ReadAt(b, r, 0, m.Size)
	}
	r, err := f.archive.Open(b, at)
	if err != nil {
		return "", err
	}
	text, err := strictjson.Read(b, io.Reader(r), m.DataOff, m.Size)
	if closed := r.Close(); err == nil {
		err = closed
	}
	return text, err
}

// value checks the value of a member, or of an element of its list.
func (s *sizes) value(key string) error {
	kind, err := s.d.Kind()
	if err != nil {
		return err
	}
	switch kind {
	case strictjson.Object:
		return s.d.Object(s.value)
	case strictjson.Array:
		if inputs[key] {
			return s.shape(key)
		}
		return s.d.Array(func(int) error { return s.value(key) })
	case strictjson.Number:
		return s.number(key)
	}
	return s.d.Skip()
}

// number checks a whole number; another one is no size.
func (s *sizes) number(key string) error {
	at := s.d.Off()
	text, err := s.d.Number()
	if err != nil || counted[key] || strings.ContainsAny(text, ".eE-") {
		return err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		n = math.MaxInt64
		fallthrough
	case n > maxSize && !s.dims[n]:
		return s.d.FailAt(key, at, errSizes.Errorf("%s is %s, which no weight has: Keras makes so much before it looks at the weights", wire.Quote(key), text))
	case weighed[key] && n > maxUnweighed && !s.dims[n]:
		return s.d.FailAt(key, at, errSizes.Errorf("%s is %d, and no weight has a dimension of it", wire.Quote(key), n))
	}
	return nil
}

// shape checks how many elements the shape of an input has, for one of a batch.
func (s *sizes) shape(key string) error {
	at, n := s.d.Off(), uint64(1)
	err := s.d.Array(func(int) error {
		kind, err := s.d.Kind()
		if err != nil || kind != strictjson.Number {
			return s.nested(key, kind, err)
		}
		text, err := s.d.Number()
		if err != nil || strings.ContainsAny(text, ".eE-") {
			return err
		}
		v, err := strconv.ParseUint(text, 10, 64)
		product, fits := wire.Mul(n, max(v, 1))
		if n = product; err != nil || !fits || n > maxShape {
			return s.d.FailAt(key, at, errSizes.Errorf("%s has more than %d elements", wire.Quote(key), maxShape))
		}
		return nil
	})
	return err
}

// nested checks what is in a shape and no number: none, or the shapes of several inputs.
func (s *sizes) nested(key string, kind strictjson.Kind, err error) error {
	if err != nil {
		return err
	}
	if kind == strictjson.Array {
		return s.shape(key)
	}
	return s.value(key)
}
