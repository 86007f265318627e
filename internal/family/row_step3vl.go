package family

// step3vlRow: the text model of Step3-VL.
var step3vlRow = &row{
	arch: "qwen3", model: "step_robotics", names: []string{"StepVLForConditionalGeneration"},
	defaults: qwen3Row.defaults, outer: outer, layer: decoderLayer, layers: qwen3Row.layers,
	keys: qwenKeys, vocab: spmOrBytes,

	naming: naming{otherParts: []string{"vit_large_projector.", "model.vit_large_projector."}}, mlx: mlxRow{none: notCompared},
}
