package encode_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// tableOf returns the lines of a table of internal/loaders, cut at the bars.
func tableOf(t *testing.T, name string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("../loaders/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			rows = append(rows, strings.Split(strings.TrimSpace(line), "|"))
		}
	}
	return rows
}

// writes returns what writes a target.
func writes(t *testing.T, to string, c convert.Choices) convert.Quantizer {
	t.Helper()
	target, ok := quant.TargetNamed(to)
	if !ok {
		t.Fatalf("no target is called %s", to)
	}
	return target.Quantizer(c)
}

// A groupModel is a model of a group, and of a matrix that is in none.
type groupModel struct {
	b       *limits.Budget
	m       tensor.Model
	config  string
	members map[string][2]int64
}

func modelOf(t *testing.T, config string, members map[string][2]int64) *groupModel {
	t.Helper()
	b := converttest.Account(t)
	matrices := maps.Clone(members)
	matrices["model.layers.7.self_attn.o_proj"] = [2]int64{256, 256}
	return &groupModel{b, converttest.WithConfig(converttest.TypedModel(t, b, "", converttest.Shaped(matrices)), config), config, members}
}

// becomes plans a target, and reports what happens to the members of the group: "quantized", "kept"
// or "refused".
func (g *groupModel) becomes(t *testing.T, to string) string {
	t.Helper()
	config, members := g.config, g.members
	p, err := convert.NewPlan(g.b, g.m, convert.Options{Quantize: writes(t, to, convert.Choices{})})
	if err != nil {
		if class := wire.ClassOf(err); class != wire.Unsupported && class != wire.Usage {
			t.Fatalf("%s, %s: %v", config, to, err)
		}
		return "refused"
	}
	defer p.Close()
	taken := 0
	for _, w := range p.Quantized.Weights {
		if _, ok := members[strings.TrimSuffix(w.Name, ".weight")]; ok {
			taken++
		}
	}
	switch taken {
	case 0:
		return "kept"
	case len(members):
		return "quantized"
	}
	t.Errorf("%s, %s: %d of %d are quantized; kept %v", config, to, taken, len(members), p.Quantized.Kept)
	return "split"
}

// Every group that a loader's sources fuse, in every target, with a member whose rows no block
// divides: it is quantized whole, kept whole, or refused.
func TestEveryFusedGroupInEveryTarget(t *testing.T) {
	if testing.Short() { // with the race detector: one goroutine chooses
		t.Skip("all of a table, which one goroutine reads")
	}
	seen, count := map[string]bool{}, map[string]int{}
	for _, row := range tableOf(t, "fused.txt") {
		architecture := strings.Fields(row[1])[0]
		config := fmt.Sprintf(`{"model_type": "nobodys", "architectures": [%q]}`, architecture)
		if row[0] == "autoawq" { // its table is of types
			config = fmt.Sprintf(`{"model_type": %q}`, architecture)
		}
		for _, group := range strings.Fields(row[2]) {
			if seen[group] {
				continue
			}
			seen[group] = true
			names := strings.Split(group, "+")
			for odd := range names {
				for _, rows := range []int64{192, 576} {
					members := map[string][2]int64{}
					for i, name := range names {
						shape := [2]int64{256, 256}
						if i == odd {
							shape[0] = rows
						}
						members["model.layers.0.block."+name] = shape
					}
					g := modelOf(t, config, members)
					for _, target := range quant.Targets() {
						count[g.becomes(t, target.Name)]++
					}
				}
			}
		}
	}
	if len(seen) < 20 || count["quantized"] < 1000 || count["kept"] < 100 {
		t.Errorf("%d groups, %v", len(seen), count)
	}
	t.Logf("%d groups, %v", len(seen), count)
}

// Every type whose experts transformers joins, in every target, with experts of an odd width: those
// of a layer are quantized whole, kept whole, or refused.
func TestEveryStackOfExpertsInEveryTarget(t *testing.T) {
	if testing.Short() { // with the race detector: one goroutine chooses
		t.Skip("all of a table, which one goroutine reads")
	}
	matrices := map[string][]string{}
	for _, row := range tableOf(t, "merged.txt") {
		from, _, _ := strings.Cut(row[1], " > ")
		for _, kind := range strings.Fields(row[0]) {
			for _, name := range strings.Fields(from) {
				if strings.Contains(name, "experts.*.") && !slices.Contains(matrices[kind], name) {
					matrices[kind] = append(matrices[kind], name)
				}
			}
		}
	}
	count := map[string]int{}
	for kind, names := range matrices {
		for _, width := range []int64{192, 160, 1856} {
			members := map[string][2]int64{}
			for _, name := range names {
				shape := [2]int64{width, 256}
				if last := name[strings.LastIndexByte(strings.TrimSuffix(name, ".weight"), '.')+1:]; last == "down_proj.weight" || last == "w2.weight" || last == "fc2.weight" {
					shape = [2]int64{256, width}
				}
				for e := range 2 {
					members["model.layers.1."+strings.TrimSuffix(strings.Replace(name, "*", fmt.Sprint(e), 1), ".weight")] = shape
				}
			}
			g := modelOf(t, fmt.Sprintf(`{"model_type": %q}`, kind), members)
			for _, target := range quant.Targets() {
				if r := g.becomes(t, target.Name); r == "quantized" && target.Experts != nil && target.Groups != nil && target.Groups.Size > 0 && width%target.Groups.Size != 0 {
					t.Errorf("%s, %s: experts of %d are quantized in groups of %d", kind, target.Name, width, target.Groups.Size)
				} else {
					count[r]++
				}
			}
		}
	}
	if len(matrices) < 40 || count["refused"] < 100 || count["kept"] < 100 {
		t.Errorf("%d types, %v", len(matrices), count)
	}
	t.Logf("%d types, %v", len(matrices), count)
}

// An output layer that has the matrix of the input embedding is left alone with it in every type of
// transformers, and cannot be chosen: transformers ties it to the embedding and leaves its codes
// over, as in a Llama with tied embeddings in w4a16.
func TestATiedOutputLayerIsNeverCodes(t *testing.T) {
	if testing.Short() { // with the race detector: one goroutine chooses
		t.Skip("all of a table, which one goroutine reads")
	}
	types, chosen, refused := 0, 0, 0
	for _, row := range tableOf(t, "ties.txt") {
		inputs, outputs, tying := strings.Fields(row[1]), strings.Fields(row[2]), strings.TrimSuffix(row[4], "b")
		if len(inputs) == 0 || len(outputs) == 0 {
			continue
		}
		for i, kind := range strings.Fields(row[0]) {
			types++
			input, output := "model."+inputs[0], outputs[0]
			targets := []string{"nf4", "fp8", "w4a16"}
			if i == 0 {
				targets = nil
				for _, target := range quant.Targets() {
					if !target.KeepsRules { // mlx-lm quantizes both, and reads the embedding's twice
						targets = append(targets, target.Name)
					}
				}
			}
			for _, says := range []string{"", `, "tie_word_embeddings": true`, `, "tie_word_embeddings": false`} {
				tied := tying == "+" && !strings.Contains(says, "false") || tying == "-" && strings.Contains(says, "true")
				g := modelOf(t, fmt.Sprintf(`{"model_type": %q%s}`, kind, says), map[string][2]int64{input: {256, 256}, output: {256, 256}})
				for _, to := range targets {
					if tied && g.becomes(t, to) == "quantized" {
						t.Errorf("%s%s: both are quantized to %s", kind, says, to)
					}
					p, err := convert.NewPlan(g.b, g.m, convert.Options{Quantize: writes(t, to, convert.Choices{Include: func(name string) bool { return name == output+".weight" }})})
					has := err == nil && slices.ContainsFunc(p.Quantized.Weights, func(w convert.QuantizedWeight) bool { return w.Name == output+".weight" })
					switch why := err != nil && strings.Contains(err.Error(), "tie_word_embeddings"); {
					case tied && has, !tied && why:
						t.Errorf("%s%s, %s: chosen %v, %v", kind, says, to, has, err)
					case why:
						refused++
					case has:
						chosen++
					}
					p.Close()
				}
			}
		}
	}
	if types < 300 || chosen < 500 || refused < 500 {
		t.Errorf("%d types, %d chosen, %d refused", types, chosen, refused)
	}
	t.Logf("%d types, %d chosen, %d refused", types, chosen, refused)
}
