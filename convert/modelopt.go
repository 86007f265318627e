package convert

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// modelOptParts and modelOptBegins are what ModelOpt 0.47 leaves alone in each of its formats, by
// the names of modules (its default_disabled_quantizers.yaml): parts of a name that a "." ends are
// whole modules. Its list of convolutions is not needed, which are no matrices.
var (
	modelOptParts = []string{
		"block_sparse_moe.gate", "mlp.gate.", "mlp.shared_expert_gate.", "router", // what chooses experts
		"linear_attn.in_proj_a", "linear_attn.in_proj_b", // decay and rate of Qwen3-Next's linear attention
		"lm_head", "output_layer", "proj_out.",
		"embed_vision", "vision_tower", "visual", "vision_model", "multi_modal_projector",
	}
	modelOptBegins = []string{"mtp.", "output."}
)

// modelOptLeaves reports a weight that ModelOpt leaves alone.
func modelOptLeaves(name string) bool {
	in := func(part string) bool { return strings.Contains(name, part) }
	begins := func(part string) bool { return strings.HasPrefix(name, part) }
	return slices.ContainsFunc(modelOptParts, in) || slices.ContainsFunc(modelOptBegins, begins)
}

// leftByModelOpt sets what the library leaves alone, if it is ModelOpt.
func leftByModelOpt(e *encode.Linear) {
	if e.Library == scaled.ModelOpt {
		e.Leaves, e.Leaver = modelOptLeaves, "ModelOpt"
	}
}
