package onnx

import (
	"maps"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// knownDomains are the domains of operators of ONNX and ONNX Runtime.
var knownDomains = map[string]bool{
	"": true, "ai.onnx": true, "ai.onnx.ml": true, "ai.onnx.training": true, "ai.onnx.preview": true, "ai.onnx.preview.training": true,
	"com.microsoft": true, "com.microsoft.nchwc": true, "com.microsoft.experimental": true, "com.ms.internal.nhwc": true,
}

// reportDomains reports the domains of operators that are neither known nor functions of the
// file, once all functions have been read.
func (d *decoder) reportDomains() error {
	first := map[string]int64{} // by domain, the first operator that is not a function
	for o, at := range d.foreign {
		if before, seen := first[o.domain]; !d.functions[o] && (!seen || at < before) {
			first[o.domain] = at
		}
	}
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if err := d.reportDomain(name, first[name]); err != nil {
			return err
		}
	}
	if d.untracked > 0 {
		return d.reportDomain("more domains", d.untracked)
	}
	return nil
}

// reportDomain adds the finding about the operators of a domain.
func (d *decoder) reportDomain(domain string, at int64) error {
	return d.out.Found.Add(d.b, Format, tensor.Finding{Code: "onnx.domain", Severity: tensor.Warning, Where: "domain " + wire.Quote(domain), Off: at,
		Text: "operators of " + wire.Quote(domain) + " come from a library that whoever runs the model must load"})
}
