// Package gguf_parser has the surface of github.com/gpustack/gguf-parser-go over the
// parser of anamnesis. A program that uses that library changes one import.
//
//	import gguf_parser "github.com/anamnesis-go/anamnesis/adapters/ggufparser"
//
// Types, constants and methods are that library's own (forward.go lists them), so
// [GGUFFile.Metadata], Architecture, Tokenizer and EstimateLLaMACppRun return what they
// returned before, and values have the library's types. Only the functions that read a
// file are new: [ParseGGUFFile], [ParseGGUFFileRemote] and [ParseGGUFFileFromHuggingFace].
//
// # Differences
//
//   - A file that llama.cpp does not load, or that two readers would read differently, is
//     refused. The error has a class ([Class]) and an offset.
//   - Memory that a header asks for is charged to an account ([WithPolicy],
//     [WithBudget]) before it is allocated.
//   - A file for which Metadata, Architecture or Tokenizer would panic is refused by
//     ParseGGUFFile. [Estimate] is EstimateLLaMACppRun that returns an error where that
//     panics.
//   - Nothing is mapped: [UseMMap] has no effect, and a file that shrinks is an error.
//   - A remote file is fetched by package remote: private addresses are refused unless
//     [AllowPrivate] is given, and a token goes to no other host.
//   - A header without its tensors is read with [HeaderOnly].
//
// # Not supported
//
// The registry of Ollama, ModelScope, the folder of a distribution, a cache of remote
// answers, and options for TLS, DNS and proxies. Programs that use them do not compile.
package gguf_parser

//go:generate go run generate.go
