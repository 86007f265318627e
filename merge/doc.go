// Package merge combines several models of one architecture into one, by a recipe.
//
//	recipe, err := merge.ReadRecipe(b, text)
//	if err != nil {
//		return err
//	}
//	merged, err := merge.Merge(b, recipe, func(name string) (tensor.Model, error) { return parser.Open(b, name) })
//
// [Merge] returns a [tensor.Model] whose tensors are computed when they are read.
// [ReadRecipe] takes the members of mergekit's YAML as JSON:
//
//	{"merge_method": "ties", "base_model": "base", "out_dtype": "bfloat16",
//	 "models": [{"model": "a", "parameters": {"weight": 0.5, "density": 0.3}},
//	            {"model": "b", "parameters": {"weight": [0.2, 0.8], "density": 0.3}}],
//	 "parameters": {"lambda": 1.1}, "seed": 7}
//
// # Arithmetic
//
// Everything is float32 and every operation is rounded. A dtype of 16 bits rounds the
// models as they are read, and the result; mergekit rounds each step of the methods of
// differences to it. Sums over the models follow their order; sums over a tensor are
// float64, over at most 256 spans of it and then over those. With the base b, a model x and its
// weight w:
//
//	linear           sum w*x / sum w; sum w*x with normalize false
//	slerp            sin((1-t)A)/sin A * b + sin(tA)/sin A * x, A the angle of both;
//	                 (1-t)*b + t*x where |cos A| > 0.9995
//	task_arithmetic  b + lambda * sum w*(x-b)
//	ties             keep the int(density*n) largest magnitudes of each x-b, the first of
//	                 equal ones; S = sum w*(x-b) of what is kept; b + lambda * the sum of
//	                 those w*(x-b) that have the sign of S, over the sum of their w
//	dare_linear      as task_arithmetic, but each element of x-b is kept with probability
//	                 density, and rescaled so that the sum of magnitudes stays (rescale)
//	dare_ties        elements kept as in dare_linear, signs as in ties, not normalized
//	passthrough      scale*x; layers by layer_range, as often as slices name them
//
// Random choices come from a generator of this package, seeded with the recipe's seed
// and the names of the tensor and the model. They are the same on every machine and for
// any number of workers, and differ from torch's.
//
// A setting is a number, a list of numbers that is interpolated over the layers, or a
// list of {"filter": text in the tensor's name, "value": ...}, of which the first match
// holds. The setting of a model overrides that of a slice, which overrides that of the
// recipe.
//
// # Order
//
// Tensors have the order of the first model, which is the base or the first one named.
// A layer is the tensors whose names have the same number after a common prefix. With
// slices, layers come slice by slice; embeddings are taken from the first slice and
// all other tensors from the last.
//
// config.json of the result is the first model's. What it says of single layers moves with
// them: their number, lists with an element for each, numbers of layers, and where another
// kind of layers begins. A period must hold for the layers of the result as well. The table
// of package loaders says which members speak of layers; slices for which one of them cannot
// stay true are refused.
//
// # Limits
//
//	MaxTotalBytes  names; 64 KiB for each model and worker; 512 KiB for each worker while ties sorts
//	MaxItems       tensors of the result
//	MaxSteps       one for each tensor, and one for each piece that is read ahead
//
// # Not supported
//
// mergekit's other methods, several stacks of layers, merged tokenizers, models whose
// tensors differ in names or shapes, quantized models.
package merge
