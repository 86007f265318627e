// Package sidecar searches the text files beside a model for requests to run code: chat
// templates that reach into their interpreter, classes of other modules, code in the
// repository.
//
// # What it reads
//
//   - *.jinja, *.jinja2, *.j2: a template, whole.
//   - *.json, and JSON under any name: at any depth, the strings under "chat_template"; "auto_map",
//     "trust_remote_code", "_target_"; the classes that Keras and skops name; the names
//     that sentence-transformers, PEFT, diffusers, mlx-lm, transformers, jsonpickle and
//     Fiddle import because a configuration holds them.
//   - *.yaml, *.yml: "_target_" of Hydra, tags that construct Python objects, tags of
//     HyperPyYAML; what YOLO and MONAI evaluate.
//   - Values in both that name something in a module which runs code, whatever the key.
//   - *.gin: imports and calls. *.prototxt: layers of Python. rwkv_vocab*.txt: lines that
//     are more than literals. type.txt of GluonTS.
//   - handler.py, code/inference.py, N/model.py: servers run them for where they lie.
//   - MLmodel of MLflow: the module that loads it, code beside it. config.pbtxt of
//     Triton: a backend that runs code, a library.
//
// Each request is a finding with the code of a rule.
//
// # Order
//
// JSON is read once from beginning to end, as Python reads it: NaN and duplicate names
// are allowed, and all members of a duplicate name are checked. Reading
// ends at the first error; OmegaConf reads such a text as YAML, so it is searched as YAML
// too. YAML is searched line by line,
// because a full YAML parser would be larger than the code it protects; a name is
// reported even where it has no effect. A value that its line does not end is judged by
// the lines that it goes on in. Of a long string the beginning is kept and its end; what
// depends on more is refused. Every step consumes at least one byte.
//
// # Limits
//
//	MaxSteps       one per value, and one per 64 bytes of text
//	MaxDepth       one level per open object or list
//	MaxTotalBytes  templates of at most 4 MiB, while they are checked
//	MaxItems       one per finding, at most 64 in a file
package sidecar
