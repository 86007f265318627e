package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/mix"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// budgetTypes are those that --budget chooses from.
func (c *forgetCmd) budgetTypes() ([]tensor.DType, error) {
	if c.Types == "" {
		return []tensor.DType{tensor.Q2_K, tensor.Q3_K, tensor.Q4_K, tensor.Q5_K, tensor.Q6_K, tensor.Q8_0}, nil
	}
	var list []tensor.DType
	for _, name := range strings.Split(c.Types, ",") {
		t, err := blockType("--types", name)
		if x, ok := quant.CodecOf(t); err == nil && (!ok || t != tensor.F16 && t != tensor.BF16 && !(x.Blocks && x.Encodes())) {
			err = fmt.Errorf("--types: %q is not a block type that can be written, nor f16 or bf16", name)
		}
		if err == nil && slices.Contains(list, t) {
			err = fmt.Errorf("--types: %q is listed twice", name)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// parseBudget reads "4.5bpw", bits by quantized number, or a size of the file.
func parseBudget(text string) (bits float64, size int64, err error) {
	if number, ok := strings.CutSuffix(text, "bpw"); ok {
		bits, err = strconv.ParseFloat(number, 64)
		if err != nil || !(bits > 0) || bits > 64 {
			return 0, 0, errors.New("--budget: give bits such as 4.5bpw, or a size such as 12GB")
		}
		return bits, 0, nil
	}
	size, err = (&writeFlags{MaxShardSize: text}).shard()
	if err != nil {
		return 0, 0, fmt.Errorf("--budget: %w", err)
	}
	return 0, size, nil
}

// A step is one type that a tensor may get: the bytes it takes, and the error.
type step struct {
	to    tensor.DType
	bytes int64
	loss  float64
}

// A ladder is the types of one tensor, each larger than the one before and better.
type ladder struct {
	name    string
	numbers int64
	steps   []step
	at      int
}

// chooseTypes gives each tensor its type so that all take at most so many bytes.
// It begins with the smallest of each, then takes again and again the step that
// lessens the error most for its bytes, while one fits; of equals the first by name.
func chooseTypes(list []*ladder, most int64) {
	slices.SortFunc(list, func(a, b *ladder) int { return cmp.Compare(a.name, b.name) })
	used := int64(0)
	for _, l := range list {
		used += l.steps[0].bytes
	}
	for {
		var best *ladder
		to, gain := 0, 0.0
		for _, l := range list {
			now := l.steps[l.at]
			for i := l.at + 1; i < len(l.steps); i++ {
				more := l.steps[i].bytes - now.bytes
				if rate := (now.loss - l.steps[i].loss) / float64(more); used+more <= most && rate > gain {
					best, to, gain = l, i, rate
				}
			}
		}
		if best == nil {
			return
		}
		used += best.steps[to].bytes - best.steps[best.at].bytes
		best.at = to
	}
}

// climb orders the steps of a tensor and leaves out those that are no better than a
// smaller one.
func (l *ladder) climb() {
	slices.SortStableFunc(l.steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.loss, b.loss)) })
	kept := l.steps[:0]
	for _, s := range l.steps {
		if len(kept) == 0 || s.loss < kept[len(kept)-1].loss && s.bytes > kept[len(kept)-1].bytes {
			kept = append(kept, s)
		}
	}
	l.steps = kept
}

// stepOf takes the error by importance where there is a matrix for the weight.
func stepOf(w *convert.QuantizedWeight) step {
	loss, lost := 0.0, &w.Lost
	if w.Weighed.Before > 0 {
		lost = &w.Weighed
	}
	if lost.Square > 0 {
		loss = lost.Square / lost.Before * float64(w.Elements)
	}
	return step{w.Type, w.After, loss}
}

// laddersOf are those of all tensors that some type quantizes, and the bytes of a file
// beside them. Where a tensor has a type already it is copied, and loses nothing.
func laddersOf(plans []*convert.Plan, types []tensor.DType) (list []*ladder, rest int64) {
	ladders := map[string]*ladder{}
	for _, p := range plans {
		for i := range p.Quantized.Weights {
			w := &p.Quantized.Weights[i]
			l := ladders[w.Name]
			if l == nil {
				l = &ladder{name: strings.Clone(w.Name), numbers: w.Elements}
				ladders[l.name], list = l, append(list, l)
			}
			l.steps = append(l.steps, stepOf(w))
		}
	}
	for _, p := range plans {
		rest = p.Size
		for i := range p.Outs {
			o := &p.Outs[i]
			l := ladders[o.Name]
			if l == nil {
				continue
			}
			rest -= o.Size
			if slices.Contains(types, o.DType) && !slices.ContainsFunc(l.steps, func(s step) bool { return s.to == o.DType }) {
				l.steps = append(l.steps, step{o.DType, o.Size, 0})
			}
		}
	}
	return list, rest
}

// fit measures the model in each type, and sets the types that --budget chooses.
// The error of a weight is its squared error over its power, times its numbers.
func (c *forgetCmd) fit(s *session, b *limits.Budget, o *conversion, q *convert.GGML) error {
	bits, most, err := parseBudget(c.Budget)
	if err != nil {
		return err
	}
	types, err := c.budgetTypes()
	if err != nil {
		return err
	}
	given := q.Options.Override
	if given == nil {
		given = func(string) tensor.DType { return tensor.Unknown }
	}
	all, err := inEachType(b, o, q, types, given)
	if err != nil {
		return err
	}
	list, rest := laddersOf(all.Plans, types) // not measured yet, but sizes are known
	if err := fitsAtAll(list, roomFor(list, rest, bits, most)); err != nil {
		return err
	}
	done := s.progress("measuring "+showPath(o.path), all.Progress)
	err = all.Measure()
	done()
	if err != nil {
		return err
	}
	list, rest = laddersOf(all.Plans, types)
	ladders, stay := map[string]*ladder{}, stays(all.Plans[0])
	for _, l := range list {
		ladders[l.name] = l
		l.climb()
	}
	chooseTypes(list, roomFor(list, rest, bits, most))
	q.Options.Override = func(name string) tensor.DType {
		if t := given(name); t != tensor.Unknown {
			return t
		}
		if l := ladders[name]; l != nil {
			return l.steps[l.at].to
		}
		return stay[name]
	}
	q.Mix = mostUsed(list, types, q.Mix)
	o.budget = spent(list)
	return nil
}

// inEachType plans the model once for each type, which all tensors get but those of --tensor-type.
func inEachType(b *limits.Budget, o *conversion, q *convert.GGML, types []tensor.DType, given func(string) tensor.DType) (*convert.Comparison, error) {
	all := convert.NewComparison(b)
	bare := slices.ContainsFunc(types, func(t tensor.DType) bool { return !convert.WantsMatrix(t) })
	for _, t := range types {
		one, opts := *q, o.opts
		one.Measure, one.LeaveUnweighed = true, bare
		one.Options.Override = func(name string) tensor.DType { return cmp.Or(given(name), t) }
		opts.Quantize, opts.Alone = one, true
		if err := all.Add(o.model, opts); err != nil {
			return nil, fmt.Errorf("%v: %w", t, err)
		}
	}
	return all, nil
}

// stays is the types that tensors keep which no step chooses for: those that have each of the types already,
// or none. One that is kept for NaN is given a type that it does not have, so that the last plan finds that again.
func stays(p *convert.Plan) map[string]tensor.DType {
	stay := map[string]tensor.DType{}
	for i := range p.Outs {
		stay[strings.Clone(p.Outs[i].Name)] = p.Outs[i].DType
	}
	for _, k := range p.Quantized.Kept {
		if stay[k.Name] == tensor.F16 {
			stay[strings.Clone(k.Name)] = tensor.BF16
		} else {
			stay[strings.Clone(k.Name)] = tensor.F16
		}
	}
	return stay
}

// spent is what the chosen types take.
func spent(list []*ladder) string {
	var bytes, numbers int64
	for _, l := range list {
		bytes, numbers = bytes+l.steps[l.at].bytes, numbers+l.numbers
	}
	return fmt.Sprintf("%.3f bits per weight, %s in %s", 8*float64(bytes)/float64(max(1, numbers)), formatBytes(bytes), plural(int64(len(list)), "weight"))
}

// roomFor is the bytes that the tensors may take: so many bits by number, or what else the file
// has taken off its size.
func roomFor(list []*ladder, rest int64, bits float64, most int64) int64 {
	if bits == 0 {
		return most - rest - 32*int64(len(list)) // what is aligned may take 31 bytes more
	}
	var numbers int64
	for _, l := range list {
		numbers += l.numbers
	}
	return int64(math.Floor(bits * float64(numbers) / 8))
}

// fitsAtAll refuses a budget that the smallest types exceed, before anything is measured.
func fitsAtAll(list []*ladder, most int64) error {
	least, numbers := int64(0), int64(0)
	for _, l := range list {
		smallest := l.steps[0].bytes
		for _, s := range l.steps {
			smallest = min(smallest, s.bytes)
		}
		least, numbers = least+smallest, numbers+l.numbers
	}
	if least > most {
		return usage{fmt.Sprintf("--budget: even the smallest of --types need %s bytes, %.3f bits per weight, but the budget leaves %s",
			formatCount(least), 8*float64(least)/float64(max(1, numbers)), formatCount(max(0, most)))}
	}
	return nil
}

// mostUsed is the mix whose name says best what a file holds: that of the type which
// takes the most bytes.
func mostUsed(list []*ladder, types []tensor.DType, otherwise mix.Mix) mix.Mix {
	sizes := map[tensor.DType]int64{}
	for _, l := range list {
		sizes[l.steps[l.at].to] += l.steps[l.at].bytes
	}
	most := int64(0)
	for _, t := range types {
		if m, ok := mix.Find(t.String()); ok && sizes[t] > most {
			otherwise, most = m, sizes[t]
		}
	}
	return otherwise
}

// checkBudget refuses what does not go with --budget.
func (c *forgetCmd) checkBudget() error {
	if _, _, err := parseBudget(c.Budget); err != nil {
		return err
	}
	if _, err := c.budgetTypes(); err != nil {
		return err
	}
	if c.To != "nf4" || c.Pure || c.DoubleQuant || len(c.BlockSize)%2 == 1 || len(c.Include) > 0 || c.OutputTensorType != "" || c.TokenEmbeddingType != "" {
		return errors.New("--budget chooses the types itself: combine it only with --types, --imatrix, --tensor-type, --exclude and --allow-requantize")
	}
	m, _ := mix.Find("q4_k_m")
	_, err := c.ggmlFlags.quantizer(m)
	return err
}
