// Package merge makes one model of several of one architecture, as a recipe says.
//
//	recipe, err := merge.ReadRecipe(b, text)
//	if err != nil {
//		return err
//	}
//	merged, err := merge.Merge(b, recipe, func(name string) (tensor.Model, error) { return parser.Open(b, name) })
//
// What [Merge] gives is a [tensor.Model] whose tensors are computed when they are
// read. [ReadRecipe] takes the members of mergekit's YAML, as JSON:
//
//	{"merge_method": "ties", "base_model": "base", "out_dtype": "bfloat16",
//	 "models": [{"model": "a", "parameters": {"weight": 0.5, "density": 0.3}},
//	            {"model": "b", "parameters": {"weight": [0.2, 0.8], "density": 0.3}}],
//	 "parameters": {"lambda": 1.1}, "seed": 7}
//
// # What is computed
//
// In float32, each operation rounded; sums over the models in their order, sums over a
// tensor in float64. b is the base, x a model, w its weight:
//
//	linear           sum w*x / sum w; the sum alone with normalize false
//	slerp            sin((1-t)A)/sin A * b + sin(tA)/sin A * x, A the angle of both;
//	                 (1-t)*b + t*x where |cos A| > 0.9995
//	task_arithmetic  b + lambda * sum w*(x-b)
//	ties             of each x-b the largest int(density*n) magnitudes, of equal ones the
//	                 first; of these the sum of those w*(x-b) that have its sign, over the
//	                 sum of their w
//	dare_linear      as task_arithmetic, of each x-b random numbers with probability density,
//	                 scaled so that their magnitudes add up to the same (rescale)
//	dare_ties        random numbers, signs as ties, not normalized
//	passthrough      scale*x; layers by layer_range, as often as a slice names them
//
// The random numbers are a stream of this package's own, of the recipe's seed, the
// tensor's name and the model's: the same on every machine and for any number of
// workers, and none that torch draws.
//
// A setting is a number, numbers that are interpolated along the layers, or a list of
// {"filter": text in the tensor's name, "value": ...}, of which the first that fits
// holds. A model's own setting goes before a slice's, that before the recipe's.
//
// # Order
//
// Tensors come in the order of the first model: the base, or the first that is named.
// Layers are those tensors whose name has a number after one common prefix; with
// slices they come slice by slice. Of the others, embeddings are those of the
// first slice, the rest of the last.
//
// # Limits
//
//	MaxTotalBytes  names; 64 KiB for each model and worker; 512 KiB while ties sorts
//	MaxItems       tensors of the result
//	MaxSteps       one for each tensor, and each piece of one that is read ahead
//
// # Not supported
//
// mergekit's other methods, several stacks of layers, merged tokenizers, models whose
// tensors differ in names or shapes, quantized models.
package merge
