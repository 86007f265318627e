package limits

import (
	"fmt"
	"slices"
	"strings"
)

// The leniencies, formats and findings that exist. A policy that names another one is an
// error, since a refusal that never happens is worse than none. A test compares the lists
// with the parsers.
var (
	quirks  = []string{"detect.polyglot", "gguf.gaps", "gguf.nul", "pth.tensors-only", "zip.store-hints"}
	formats = []string{"dcp", "deepspeed", "ggml", "gguf", "hdf5", "keras", "npy", "npz", "onnx", "pth", "safetensors", "tfbundle", "tflite"}

	findings = []string{
		"dcp.optimizer",
		"detect.choice", "detect.name", "detect.polyglot",
		"gguf.alignment", "gguf.big-endian", "gguf.charsmap", "gguf.epsilon", "gguf.expert-count", "gguf.gaps",
		"gguf.key-kind", "gguf.key-text", "gguf.last-padding", "gguf.layer-count", "gguf.name-long",
		"gguf.nested-array", "gguf.rope-scaling", "gguf.shape-empty", "gguf.shape-scalar", "gguf.shape-wide", "gguf.split",
		"gguf.template-attr", "gguf.template-call", "gguf.template-computed", "gguf.template-dunder", "gguf.template-global",
		"gguf.template-growth", "gguf.template-import", "gguf.template-method", "gguf.template-size", "gguf.template-syntax",
		"gguf.tensor-unknown", "gguf.text-nul", "gguf.token-byte", "gguf.token-count", "gguf.token-dup",
		"gguf.token-id", "gguf.type-internal", "gguf.type-negative", "gguf.type-removed", "gguf.type-unknown", "gguf.version",
		"gguf.weight-type",
		"npy.bf16-void", "npy.f8-e5m2", "npy.long-header", "npy.native-order", "npy.python2", "npy.type-lost",
		"npy.type-unknown",
		"npz.case", "npz.comment", "npz.member",
		"onnx.compiled", "onnx.domain", "onnx.expression", "onnx.external-path", "onnx.loop", "onnx.python", "onnx.size",
		"pickle.nested", "pickle.py2-bytes",
		"pth.alignment", "pth.extra-member", "pth.index-extra", "pth.index-size", "pth.name-collision", "pth.not-understood",
		"pth.script-class", "pth.script-member", "pth.script-operator", "pth.script-runs", "pth.script-setstate", "pth.script-syntax",
		"safetensors.alias-dangling", "safetensors.dtype-unknown", "safetensors.index-extra",
		"safetensors.index-size",
		"scan.findings", "sidecar.auto-map", "sidecar.beyond-weights", "sidecar.code", "sidecar.count", "sidecar.expression", "sidecar.handler", "sidecar.import", "sidecar.index-path", "sidecar.keras-code", "sidecar.keras-file", "sidecar.keras-module",
		"sidecar.library", "sidecar.mar-handler", "sidecar.mar-requirements", "sidecar.no-kind", "sidecar.pickle", "sidecar.regex", "sidecar.skops-node", "sidecar.skops-type",
		"sidecar.syntax", "sidecar.target", "sidecar.tensorflow", "sidecar.tokenizer", "sidecar.trust-remote-code", "sidecar.unexplained", "sidecar.yaml-tag",
		"template.attr", "template.call", "template.computed", "template.dunder", "template.global", "template.growth", "template.import",
		"template.method", "template.size", "template.syntax",
		"tflite.loop", "tflite.operator",
	}
)

// Quirks lists the exceptions to strictness that a policy may grant.
func Quirks() []string { return slices.Clone(quirks) }

// Formats lists the formats that a policy may refuse.
func Formats() []string { return slices.Clone(formats) }

// Findings lists the codes of the findings that a policy may refuse.
func Findings() []string { return slices.Clone(findings) }

// IsFinding reports a code of [Findings].
func IsFinding(code string) bool { return slices.Contains(findings, code) }

// lists are the list fields of a policy's JSON with their possible values.
var lists = [...]struct {
	field, one string
	hint       string // how the message lists the values, if there are few
	of         func(*Policy) *[]string
	known      func(string) bool
}{
	{"quirks", "quirk", " (" + strings.Join(quirks, ", ") + ")", func(p *Policy) *[]string { return &p.Quirks },
		func(name string) bool { return slices.Contains(quirks, name) }},
	{"refuse_formats", "format", " (" + strings.Join(formats, ", ") + ")", func(p *Policy) *[]string { return &p.RefuseFormats },
		func(name string) bool { return slices.Contains(formats, name) }},
	{"refuse_findings", "finding", "", func(p *Policy) *[]string { return &p.RefuseFindings },
		func(name string) bool { return name == "*" || IsFinding(name) }},
}

// checkNames reports the first unknown name.
func (p *Policy) checkNames() error {
	for _, l := range lists {
		for _, name := range *l.of(p) {
			if !l.known(name) {
				return fmt.Errorf("%w: field %q: no %s has the name %s%s", ErrPolicy, l.field, l.one, show(name), l.hint)
			}
		}
	}
	return nil
}
