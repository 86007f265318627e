package family

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A rope holds the configuration of rotary embeddings, in either of its two spellings.
type rope struct {
	kind               string
	theta, swa         jsontree.Value
	params             jsontree.Value
	original, fraction jsontree.Value
}

func (c *config) rope() (r rope) {
	all := c.get("rope_parameters", "rope_scaling")
	r.params = all
	full, local := all.Get("full_attention"), all.Get("sliding_attention")
	if full.There || local.There {
		if full.There {
			r.params = full
		}
		r.theta, r.swa = r.params.Get("rope_theta"), local.Get("rope_theta")
	} else {
		r.theta = all.Get("rope_theta")
		if !r.theta.There {
			r.theta = c.get("global_rope_theta", "rope_global_theta", "rope_theta_global", "rope_theta", "rotary_emb_base")
		}
		r.swa = c.get("local_rope_theta", "rope_local_theta", "rope_theta_local", "swa_rope_theta", "rope_local_base_freq")
	}
	if list := r.theta.List(); c.row.attention.thetas && len(list) > 1 {
		r.theta, r.swa = list[0], list[1]
	}
	r.kind = r.params.First("rope_type", "type").String()
	if r.original = r.params.Get("original_max_position_embeddings"); !r.original.There {
		r.original = c.get("original_max_position_embeddings")
	}
	if r.fraction = r.params.Get("partial_rotary_factor"); !r.fraction.There {
		r.fraction = c.get("partial_rotary_factor", "rope_pct", "rope_percent")
	}
	return r
}

// rope adds the keys of rotary embeddings.
func (k *keys) rope() {
	r := k.c.rope()
	factor := r.params.Get("factor")
	scaled := func(kind string) {
		k.putArch("rope.scaling.type", kind)
		k.number("rope.scaling.factor", "factor", factor)
	}
	switch {
	case r.kind == "linear" && factor.There:
		scaled("linear")
	case r.kind == "yarn" && factor.There:
		scaled("yarn")
		k.yarn(r)
	case r.kind == "su" || r.kind == "longrope":
		k.putArch("rope.scaling.type", "longrope")
	case slices.Contains(k.c.row.attention.scalings, r.kind): // the row's own keys say it
	case r.kind == "" || r.kind == "default" || r.kind == "mrope" || strings.EqualFold(r.kind, "llama3"):
	default:
		k.fail("rope_scaling", r.params, "of a known type")
	}
	if r.theta.There {
		k.number("rope.freq_base", "rope_theta", r.theta)
	}
	if r.swa.There {
		k.number("rope.freq_base_swa", "rope_theta", r.swa)
	}
}

func (k *keys) yarn(r rope) {
	n, ok := r.original.Int()
	if !ok || n < 0 || n > math.MaxUint32 {
		k.fail("original_max_position_embeddings", r.original, "an unsigned 32-bit integer")
		return
	}
	k.putArch("rope.scaling.original_context_length", uint32(n))
	for _, o := range [][3]string{
		{"rope.scaling.yarn_ext_factor", "extrapolation_factor"}, {"rope.scaling.yarn_attn_factor", "attention_factor", "attn_factor"},
		{"rope.scaling.yarn_beta_fast", "beta_fast"}, {"rope.scaling.yarn_beta_slow", "beta_slow"},
	} {
		if v := r.params.First(o[1], o[2]); v.There {
			k.number(o[0], o[1], v)
		}
	}
}

// derivedTensors adds the tensors that are computed only from the configuration.
func (p *planner) derivedTensors() error {
	r := p.c.rope()
	if factors := p.c.row.attention.factors; factors != nil {
		if made, err := factors(p, r); made || err != nil {
			return err
		}
	}
	if !strings.EqualFold(r.kind, "llama3") {
		return nil
	}
	data, err := p.llama3(r)
	if err != nil {
		return wire.At(configName, "member rope_scaling", wire.NoOffset, err)
	}
	t := Tensor{Name: ropeFreqs, DType: tensor.F32, Shape: []int64{int64(len(data) / 4)}, Data: data}
	p.Tensors, err = limits.Append(p.b, p.Tensors, t)
	return err
}

// llama3 returns what Llama 3.1 divides each frequency by, as Llama's apply_scaling
// computes it and as the converter rounds it: a frequency is a float32, results are
// float64 until they are stored.
func (p *planner) llama3(r rope) ([]byte, error) {
	number := func(name string, otherwise float64) float64 {
		if f, ok := r.params.Get(name).Float(); ok {
			return f
		}
		return otherwise
	}
	base := 10000.0
	if f, ok := r.theta.Float(); ok {
		base = f
	}
	dim := p.c.headDim()
	factor, low, high := number("factor", 8), number("low_freq_factor", 1), number("high_freq_factor", 4)
	old := number("original_max_position_embeddings", 8192)
	if !(factor > 0 && low > 0 && high > low && old > 0 && base > 0) || dim%2 != 0 {
		return nil, wire.ErrRange.Errorf("values that give no frequencies")
	}
	out, err := limits.Make[byte](p.b, int(2*dim))
	if err != nil {
		return nil, err
	}
	for i := range dim / 2 {
		exponent := float32(2*i) / float32(dim)
		freq := 1 / float32(math.Pow(base, float64(exponent)))
		// Tensors of one number: torch's arithmetic with Python's is float32.
		wavelen := float32(2*math.Pi) / freq
		var f float32
		switch {
		case wavelen < float32(old/high):
			f = 1
		case wavelen > float32(old/low):
			f = float32(factor)
		default:
			smooth := float32(float32(old)/wavelen-float32(low)) / float32(high-low)
			rest := float32(float32(1-smooth) / float32(factor))
			f = 1 / float32(rest+smooth)
		}
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(f))
	}
	return out, nil
}

// rotatedDims returns how many elements of a head rotate: half of them by default.
func (c *config) rotatedDims() int64 {
	part := 0.5
	if f, ok := c.rope().fraction.Float(); ok && f > 0 && f <= 1 {
		part = f
	}
	return int64(float64(c.headDim()) * part)
}

// partialRotary puts the part of a head that rotates.
func (s *settings) partialRotary(head int64) {
	n, ok := s.int("rope.dimension_count")
	if !ok || head == 0 || n > head || n%2 != 0 {
		s.fail(s.row.arch+".rope.dimension_count", "its value is %d, of heads of %d", n, head)
		return
	}
	s.put("partial_rotary_factor", float32JSON(float64(float32(n)/float32(head))))
	s.rotations(n)
}

// longFactors adds the tensors that Phi 3 divides its frequencies by, in texts longer than
// those of the original training and in shorter ones. rotated returns how many elements of a
// head have a factor each, in pairs.
func longFactors(rotated func(*config, rope) int64) func(*planner, rope) (bool, error) {
	return func(p *planner, r rope) (ok bool, err error) {
		if !r.params.Get("long_factor").There {
			return false, nil
		}
		return true, wire.At(configName, "member rope_scaling", wire.NoOffset, p.longRope(r, rotated(p.c, r)))
	}
}

// longRope adds those tensors for a number of rotated elements.
func (p *planner) longRope(r rope, rotated int64) error {
	for _, kind := range []string{"long", "short"} {
		list := r.params.Get(kind + "_factor").List()
		if int64(len(list)) != rotated/2 {
			return wire.ErrMismatch.Errorf("%d numbers in %s_factor for %d rotated pairs", len(list), kind, rotated)
		}
		data, err := limits.Make[byte](p.b, 4*len(list))
		if err != nil {
			return err
		}
		for i, v := range list {
			f, ok := v.Float()
			if !ok {
				return wire.ErrRange.Errorf("%s_factor holds something other than a number", kind)
			}
			binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(f)))
			if err := p.b.Step(1); err != nil {
				return err
			}
		}
		t := Tensor{Name: "rope_factors_" + kind + ".weight", DType: tensor.F32, Shape: []int64{int64(len(list))}, Data: data}
		if p.Tensors, err = limits.Append(p.b, p.Tensors, t); err != nil {
			return err
		}
	}
	return nil
}

// rotated returns the number of elements of a head that rotate in Phi 3.
func (c *config) rotated(r rope) int64 {
	part := 1.0
	if f, ok := r.fraction.Float(); ok && f > 0 && f <= 1 {
		part = f
	}
	return int64(part*float64(c.hidden())) / c.heads()
}

// longFactor returns the factor of attention in texts longer than those of the original
// training.
func longFactor(kind string, most, original int64) (float32, bool) {
	scale := float64(most) / float64(original)
	switch {
	case original < 2 || most < 1:
		return 0, false
	case scale <= 1:
		return 1, true
	case kind == "su" || kind == "longrope":
		return float32(math.Sqrt(1 + math.Log(scale)/math.Log(float64(original)))), true
	case kind == "yarn":
		return float32(0.1*math.Log(scale) + 1), true
	}
	return 0, false
}

// rotatedPart returns how many of the given elements rotate.
func (c *config) rotatedPart(of int64, otherwise float64) int64 {
	if f, ok := c.rope().fraction.Float(); ok {
		otherwise = f
	}
	if !(otherwise > 0 && otherwise <= 1) {
		return of
	}
	return int64(otherwise * float64(of))
}

// sectionsOr adds the stated sections, or the given ones.
func (k *keys) sectionsOr(time, height, width int32) {
	if k.c.rope().params.Get("mrope_section").There {
		k.sections()
		return
	}
	k.putArch("rope.dimension_sections", []int32{time, height, width, 0})
}

// sections adds the numbers of a head's elements that rotate with time, height and width.
func (k *keys) sections() {
	list := k.c.rope().params.Get("mrope_section")
	numbers := make([]int32, 4)
	for i, v := range list.List() {
		n, ok := v.Int()
		if i >= len(numbers) || !ok || n < 0 || n > 1<<20 {
			k.fail("mrope_section", list, "up to four numbers")
			return
		}
		numbers[i] = int32(n)
	}
	if list.There {
		k.putArch("rope.dimension_sections", numbers)
	}
}
