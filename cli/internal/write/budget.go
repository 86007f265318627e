package write

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// budgetTypes returns the types that --budget chooses from.
func (c *Quantize) budgetTypes() ([]tensor.DType, error) {
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

// parseBudget parses "4.5bpw", bits per quantized number, or the size of a file.
func parseBudget(text string) (bits float64, size int64, err error) {
	if number, ok := strings.CutSuffix(text, "bpw"); ok {
		bits, err = strconv.ParseFloat(number, 64)
		if err != nil || !(bits > 0) || bits > 64 {
			return 0, 0, errors.New("--budget: give bits such as 4.5bpw, or a size such as 12GB")
		}
		return bits, 0, nil
	}
	size, err = (&writeFlags{MaxShardSize: text}).shardSize()
	if err != nil {
		return 0, 0, fmt.Errorf("--budget: %w", err)
	}
	return 0, size, nil
}

// A typeOption is a type that a tensor may get, with its size and its error.
type typeOption struct {
	to    tensor.DType
	bytes int64
	loss  float64
}

// A tensorOptions lists the possible types of one tensor. After prune, each is larger than
// the one before and has a smaller error; options[chosen] is the choice.
type tensorOptions struct {
	name    string
	numbers int64
	options []typeOption
	chosen  int
}

// chooseTypes chooses a type for each tensor so that all together take at most most bytes. It begins
// with the smallest types and repeatedly takes the step that still fits and reduces the error
// most per byte; of equal steps, the first by name.
func chooseTypes(list []*tensorOptions, most int64) {
	slices.SortFunc(list, func(a, b *tensorOptions) int { return cmp.Compare(a.name, b.name) })
	used := int64(0)
	for _, l := range list {
		used += l.options[0].bytes
	}
	for {
		best, to := nextStep(list, most-used)
		if best == nil {
			return
		}
		used += best.options[to].bytes - best.options[best.chosen].bytes
		best.chosen = to
	}
}

// nextStep returns the step of at most room bytes that reduces the error most per byte, nil for none.
func nextStep(list []*tensorOptions, room int64) (best *tensorOptions, to int) {
	gain := 0.0
	for _, l := range list {
		now := l.options[l.chosen]
		for i := l.chosen + 1; i < len(l.options); i++ {
			more := l.options[i].bytes - now.bytes
			if rate := (now.loss - l.options[i].loss) / float64(more); more <= room && rate > gain {
				best, to, gain = l, i, rate
			}
		}
	}
	return best, to
}

// curveOf returns size and error for every budget, and those of the choice last, which is marked.
func curveOf(list []*tensorOptions) []point {
	all := make([]*tensorOptions, len(list))
	for i, l := range list {
		one := *l
		one.chosen, all[i] = 0, &one
	}
	out := []point{sizeAndError(all)}
	for {
		l, to := nextStep(all, math.MaxInt64)
		if l == nil {
			break
		}
		l.chosen, out = to, append(out, point{})
		out[len(out)-1] = sizeAndError(all)
	}
	chosen := sizeAndError(list)
	chosen.kind, chosen.label = "chosen", "chosen"
	chosen.title = fmt.Sprintf("chosen: %.3f bits, %.4g", chosen.x, chosen.y)
	return append(out, chosen)
}

// sizeAndError returns bits per weight and relative RMSE of what is chosen.
func sizeAndError(list []*tensorOptions) point {
	var bytes, numbers int64
	loss := 0.0
	for _, l := range list {
		o := l.options[l.chosen]
		bytes, numbers, loss = bytes+o.bytes, numbers+l.numbers, loss+o.loss
	}
	n := float64(max(1, numbers))
	return point{x: 8 * float64(bytes) / n, y: math.Sqrt(loss / n)}
}

// prune sorts the options by size and drops those that are no better than a smaller one.
func (l *tensorOptions) prune() {
	slices.SortStableFunc(l.options, func(a, b typeOption) int { return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.loss, b.loss)) })
	kept := l.options[:0]
	for _, s := range l.options {
		if len(kept) == 0 || s.loss < kept[len(kept)-1].loss && s.bytes > kept[len(kept)-1].bytes {
			kept = append(kept, s)
		}
	}
	l.options = kept
}

// optionOf returns the option that a weight was measured as:
//
//	loss = squared error / sum of squares * number of elements
//
// weighted by importance if the matrix has the weight.
func optionOf(w *convert.QuantizedWeight) typeOption {
	loss, lost := 0.0, &w.Lost
	if w.Weighed.Before > 0 {
		lost = &w.Weighed
	}
	if lost.Square > 0 {
		loss = lost.Square / lost.Before * float64(w.Elements)
	}
	return typeOption{w.Type, w.After, loss}
}

// optionsOf returns the options of all tensors that some type quantizes, and the bytes of the
// file besides them. A tensor that has a type already is copied, without an error.
func optionsOf(plans []*convert.Plan, types []tensor.DType) (list []*tensorOptions, rest int64) {
	ladders := map[string]*tensorOptions{}
	for _, p := range plans {
		for i := range p.Quantized.Weights {
			w := &p.Quantized.Weights[i]
			l := ladders[w.Name]
			if l == nil {
				l = &tensorOptions{name: strings.Clone(w.Name), numbers: w.Elements}
				ladders[l.name], list = l, append(list, l)
			}
			l.options = append(l.options, optionOf(w))
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
			if slices.Contains(types, o.DType) && !slices.ContainsFunc(l.options, func(s typeOption) bool { return s.to == o.DType }) {
				l.options = append(l.options, typeOption{o.DType, o.Size, 0})
			}
		}
	}
	return list, rest
}

// chooseForBudget measures the model in each type, and sets q's types to the choice.
func (c *Quantize) chooseForBudget(s *run.Run, b *limits.Budget, o *conversion, q *ggml.Quantizer) error {
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
	list, rest := optionsOf(all.Plans, types) // the sizes; errors are measured later
	if err := checkMinimum(list, bytesForTensors(list, rest, bits, most)); err != nil {
		return err
	}
	done := s.Progress("measuring "+term.Path(o.path), all.Progress)
	err = all.Measure()
	done()
	if err != nil {
		return err
	}
	list, rest = optionsOf(all.Plans, types)
	ladders, stay := map[string]*tensorOptions{}, keptTypes(all.Plans[0])
	for _, l := range list {
		ladders[l.name] = l
		l.prune()
	}
	chooseTypes(list, bytesForTensors(list, rest, bits, most))
	q.Options.Override = func(name string) tensor.DType {
		if t := given(name); t != tensor.Unknown {
			return t
		}
		if l := ladders[name]; l != nil {
			return l.options[l.chosen].to
		}
		return stay[name]
	}
	q.Mix = mixOfMostBytes(list, types, q.Mix)
	o.budget = budgetText(list)
	if isPage(o.page) {
		o.curve = curveOf(list)
	}
	return nil
}

// inEachType plans the model once for each type, which all tensors get except those of
// --tensor-type.
func inEachType(b *limits.Budget, o *conversion, q *ggml.Quantizer, types []tensor.DType, given func(string) tensor.DType) (*convert.Comparison, error) {
	all := convert.NewComparison(b)
	bare := slices.ContainsFunc(types, func(t tensor.DType) bool { return !ggml.WantsMatrix(t) })
	for _, t := range types {
		one, opts := *q, o.opts
		one.Measure, one.LeaveUnweighed = true, bare
		one.Options.Override = func(name string) tensor.DType { return cmp.Or(given(name), t) }
		opts.Quantize, opts.Alone = one, true
		if err := all.Add(o.model, opts, nil); err != nil {
			return nil, fmt.Errorf("%v: %w", t, err)
		}
	}
	return all, nil
}

// keptTypes returns the types of the tensors that have no options. A tensor that is kept for
// its NaN gets a type that it does not have, so that the final plan looks at it again.
func keptTypes(p *convert.Plan) map[string]tensor.DType {
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

// budgetText describes the size of the chosen types.
func budgetText(list []*tensorOptions) string {
	var bytes, numbers int64
	for _, l := range list {
		bytes, numbers = bytes+l.options[l.chosen].bytes, numbers+l.numbers
	}
	return fmt.Sprintf("%.3f bits per weight, %s in %s", 8*float64(bytes)/float64(max(1, numbers)), term.Bytes(bytes), term.Plural(int64(len(list)), "weight"))
}

// bytesForTensors returns how many bytes the tensors may take: bits per number, or the size
// of the file without the rest.
func bytesForTensors(list []*tensorOptions, rest int64, bits float64, most int64) int64 {
	if bits == 0 {
		return most - rest - 32*int64(len(list)) // alignment adds up to 31 bytes to each
	}
	var numbers int64
	for _, l := range list {
		numbers += l.numbers
	}
	return int64(math.Floor(bits * float64(numbers) / 8))
}

// checkMinimum rejects a budget that the smallest types exceed, before anything is measured.
func checkMinimum(list []*tensorOptions, most int64) error {
	least, numbers := int64(0), int64(0)
	for _, l := range list {
		smallest := l.options[0].bytes
		for _, s := range l.options {
			smallest = min(smallest, s.bytes)
		}
		least, numbers = least+smallest, numbers+l.numbers
	}
	if least > most {
		return fault.Usage(fmt.Sprintf("--budget: even the smallest of --types need %s bytes, %.3f bits per weight, but the budget leaves %s",
			term.Count(least), 8*float64(least)/float64(max(1, numbers)), term.Count(max(0, most))))
	}
	return nil
}

// mixOfMostBytes returns the mix that is recorded as the file's type: that of the type which
// takes the most bytes.
func mixOfMostBytes(list []*tensorOptions, types []tensor.DType, otherwise mix.Mix) mix.Mix {
	sizes := map[tensor.DType]int64{}
	for _, l := range list {
		sizes[l.options[l.chosen].to] += l.options[l.chosen].bytes
	}
	most := int64(0)
	for _, t := range types {
		if m, ok := mix.Find(t.String()); ok && sizes[t] > most {
			otherwise, most = m, sizes[t]
		}
	}
	return otherwise
}

// checkBudget checks --budget and the flags with it.
func (c *Quantize) checkBudget() error {
	if _, _, err := parseBudget(c.Budget); err != nil {
		return err
	}
	if _, err := c.budgetTypes(); err != nil {
		return err
	}
	if c.To != "" || c.Pure || c.DoubleQuant || len(c.BlockSize)%2 == 1 || len(c.Include) > 0 || c.OutputTensorType != "" || c.TokenEmbeddingType != "" {
		return errors.New("--budget chooses the types itself: combine it only with --types, --imatrix, --tensor-type, --exclude and --allow-requantize")
	}
	m, _ := mix.Find("q4_k_m")
	_, err := c.ggmlFlags.quantizer(m)
	return err
}
