// Package sidecar looks through the texts that lie beside a model for what asks
// whoever loads it to run something: chat templates that reach outside of
// themselves, classes of other modules, code of the repository.
//
// # What it looks at
//
//   - *.jinja, *.jinja2, *.j2: a template, whole.
//   - *.json: at any depth, the strings under "chat_template"; "auto_map",
//     "trust_remote_code", "_target_"; the classes that Keras and skops name.
//     what sentence-transformers, PEFT, diffusers, mlx-lm, transformers, jsonpickle and
//     Fiddle import because a configuration names it.
//   - *.yaml, *.yml: "_target_" of Hydra, tags that construct Python objects, tags of
//     HyperPyYAML.
//   - MLmodel of MLflow: the module that loads it, code beside it. config.pbtxt of
//     Triton: a backend that runs code.
//
// What it finds are findings, each with the code of a rule. A text in which there is
// nothing of that is as harmless as before.
//
// # Order
//
// JSON is read once from its beginning to its end, as Python reads it: NaN and
// names that stand twice are allowed, and each of two such members is looked at. A
// text that is no JSON is loaded by nobody, and left at the first place that is wrong.
// YAML is read by lines, since a reader of all of YAML would be larger than what it
// protects: a name that is found where it means nothing is reported too.
// Every step consumes a byte at least.
//
// # Limits
//
//	MaxSteps       one per value, and one per 64 bytes of text
//	MaxDepth       one level per open object or list
//	MaxTotalBytes  templates of at most 4 MiB, while they are looked through
//	MaxItems       one per finding, at most 64 in a file
package sidecar
