package lora

import (
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// configName is the file with PEFT's configuration of an adapter.
const configName = "adapter_config.json"

// baseConfig is the base's configuration.
const baseConfig = "config.json"

// maxConfig bounds its size; one that lists every module of a large model has a megabyte.
const maxConfig = 16 << 20

// A config is the configuration of an adapter.
type config struct {
	rank            int64
	alpha           float64
	rankOf          []pattern
	alphaOf         []pattern
	usesExpressions bool  // names are matched with expressions
	expressions     int64 // instructions of the patterns that are not names: the cost of a character
	namePatterns    int64 // patterns that are names
	rankStabilized  bool  // alpha/sqrt(r) instead of alpha/r
	dora            bool
	transposed      bool // fan_in_fan_out
	biases          bool // trained biases replace those of the base
	loraBias        bool
	saved           []string
	targets         moduleSelector
	excludes        moduleSelector
	layers          []string // numbers of the adapted layers, empty for all
	layerNames      []string // names before the number of a layer
	parameters      []string
	tokens          []trainedTokens
	ensuresTies     bool   // what replaces one of two tied embeddings replaces both
	version         string // of the PEFT that wrote it; the first ones do not say theirs
}

// ignoredKeys are keys that do not concern the weights: where the adapter comes from, how it
// was initialized and trained.
var ignoredKeys = []string{
	"auto_mapping", "base_model_name_or_path", "eva_config", "inference_mode",
	"lora_dropout", "loftq_config", "megatron_core", "qalora_group_size", "revision", "runtime_config", "task_type",
}

// unsupportedKeys are keys of methods that are not supported: any value but null and false is
// rejected.
var unsupportedKeys = []string{
	"alora_invocation_tokens", "arrow_config", "corda_config", "kasa_config", "layer_replication", "lora_ga_config", "megatron_config",
	"monteclora_config", "use_bdlora", "use_qalora", "velora_config",
}

// harmlessInits are the values of init_lora_weights that do not change the base; the others
// (PiSSA, OLoRA, CorDA, LoftQ, LoRA-GA) change it before training.
var harmlessInits = []string{"gaussian", "orthogonal", "eva"}

// readConfig reads adapter_config.json.
func readConfig(b *limits.Budget, files fs.FS) (*config, error) {
	v, err := jsontree.Read(b, files, configName, maxConfig)
	if err != nil {
		return nil, err
	}
	if !v.There {
		return nil, wire.ErrMissing.Errorf("%s beside the adapter's tensors", configName)
	}
	if v.Kind != strictjson.Object {
		return nil, wire.ErrSyntax.Errorf("%s is not an object", configName)
	}
	if v.Get("fine_tune_type").There && !v.Get("peft_type").There {
		return nil, wire.ErrUnsupported.Errorf("an adapter of mlx-lm: mlx_lm.fuse merges it")
	}
	if kind := v.Get("peft_type").String(); kind != "LORA" {
		return nil, wire.ErrUnsupported.Errorf("peft_type %s: only LORA is merged here, other types by PEFT itself", wire.Quote(kind))
	}
	c := &config{rank: 8, alpha: 8}
	for m := range v.Members() {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		if err := c.member(b, m.Name, m.Value); err != nil {
			return nil, wire.At(configName, "key "+wire.Quote(m.Name), m.Value.Off(), err)
		}
	}
	return c, nil
}

// member reads one key.
func (c *config) member(b *limits.Budget, name string, v jsontree.Value) (err error) {
	if slices.Contains(ignoredKeys, name) || name == "peft_type" {
		return nil
	}
	if v.Kind == strictjson.Null && !slices.Contains([]string{"r", "lora_alpha"}, name) {
		return nil // not set
	}
	if is, err := c.modules(b, name, v); is {
		return err
	}
	ok := true
	switch name {
	case "r":
		c.rank, ok = v.Int()
		ok = ok && c.rank > 0
	case "lora_alpha":
		c.alpha, ok = finite(v)
	case "use_rslora":
		c.rankStabilized, ok = v.Bool()
	case "use_dora":
		c.dora, ok = v.Bool()
	case "fan_in_fan_out":
		c.transposed, ok = v.Bool()
	case "trainable_token_indices":
		err = c.readTokens(b, v)
	case "ensure_weight_tying":
		c.ensuresTies, ok = v.Bool()
	case "lora_bias":
		c.loraBias, ok = v.Bool()
	case "peft_version":
		c.version, ok = v.String(), v.IsString()
	case "bias":
		c.biases = v.String() == "all" || v.String() == "lora_only"
		ok = c.biases || v.String() == "none"
	case "init_lora_weights":
		if text := v.String(); v.IsString() && !slices.Contains(harmlessInits, text) {
			return wire.ErrUnsupported.Errorf("%s changed the base before training: PEFT can save the adapter for the plain base (path_initial_model_for_weight_conversion)", wire.Quote(text))
		}
	case "rank_pattern":
		c.rankOf, err = c.patterns(b, v, true)
	case "alpha_pattern":
		c.alphaOf, err = c.patterns(b, v, false)
	default:
		if truth, is := v.Bool(); slices.Contains(unsupportedKeys, name) && is && !truth {
			return nil
		} else if slices.Contains(unsupportedKeys, name) {
			return wire.ErrUnsupported.Errorf("only PEFT itself merges adapters with it")
		}
		return wire.ErrUnsupported.Errorf("it is unknown, and may change the meaning of the adapter")
	}
	if err == nil && !ok {
		err = wire.ErrRange.Errorf("PEFT does not write such a value")
	}
	return err
}

func finite(v jsontree.Value) (float64, bool) {
	f, ok := v.Float()
	return f, ok && !math.IsInf(f, 0)
}

// names reads a list of names.
func names(b *limits.Budget, v jsontree.Value) (list []string, err error) {
	if v.Kind != strictjson.Array {
		return nil, wire.ErrRange.Errorf("it is not a list")
	}
	for _, one := range v.List() {
		if !one.IsString() {
			return nil, wire.ErrRange.Errorf("it is not a list of names")
		}
		if err := b.Step(1); err != nil {
			return nil, err
		}
		if list, err = limits.Append(b, list, one.String()); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *config) rankFor(module string) int64 {
	return int64(firstMatch(c.rankOf, module, float64(c.rank)))
}

// scale returns the factor of a module's product.
func (c *config) scale(module string, weight float64) float32 {
	alpha, r := firstMatch(c.alphaOf, module, c.alpha), float64(c.rankFor(module))
	if c.rankStabilized {
		r = math.Sqrt(r)
	}
	return float32(weight * alpha / r)
}

// listsModule reports whether a list has the name of a module, or its last parts.
func listsModule(list []string, module string) bool {
	return slices.ContainsFunc(list, func(n string) bool { return module == n || strings.HasSuffix(module, "."+n) })
}
