// Package gguf_parser has the surface of github.com/gpustack/gguf-parser-go over the
// parser of anamnesis: who uses that library changes an import.
//
//	import gguf_parser "github.com/anamnesis-go/anamnesis/adapters/ggufparser"
//
// Types, constants and methods are that library's own (forward.go has them all), so what
// [GGUFFile.Metadata], Architecture, Tokenizer and EstimateLLaMACppRun say is what they
// said before, and a file fits wherever its type is asked for. What reads a file is ours:
// [ParseGGUFFile], [ParseGGUFFileRemote] and [ParseGGUFFileFromHuggingFace].
//
// # What is different
//
//   - A file is refused that llama.cpp does not load or that two readers would read
//     differently. The error has a class ([Class]) and an offset.
//   - What a header declares is charged to an account ([WithPolicy], [WithBudget]) before
//     it is allocated.
//   - A file for which Metadata, Architecture or Tokenizer panics is refused by
//     ParseGGUFFile, so that they do not panic later. [Estimate] is EstimateLLaMACppRun
//     with an error in the place of a panic.
//   - Nothing is mapped: [UseMMap] has no effect, and a file that shrinks is an error.
//   - A remote file is fetched by package remote: private addresses are refused unless
//     [AllowPrivate] is given, and a token goes to no other host.
//   - A copy of a header without its tensors is read with [HeaderOnly].
//
// # Not there
//
// The registry of Ollama, ModelScope and the folder of a distribution, a cache of remote
// answers, and options for TLS, DNS and proxies of requests: programs that use them do not
// compile, rather than do something else.
package gguf_parser

//go:generate go run generate.go
