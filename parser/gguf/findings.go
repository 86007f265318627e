package gguf

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The codes of this package's findings. They are stable: policies name them.
const (
	CodeVersion   = "gguf.version"      // a version that most readers refuse
	CodeBigEndian = "gguf.big-endian"   // a byte order that most readers refuse
	CodeAlignment = "gguf.alignment"    // below what ggml needs
	CodeGaps      = "gguf.gaps"         // unused bytes between tensors, by quirk
	CodePadding   = "gguf.last-padding" // the padding after the last tensor is missing
	CodeSplit     = "gguf.split"        // one file of several
	CodeNested    = "gguf.nested-array" // arrays in arrays
	CodeKeyText   = "gguf.key-text"     // a key outside of printable ASCII
	CodeKeyKind   = "gguf.key-kind"     // a known key with another kind of value
	CodeLayers    = "gguf.layer-count"  // outside of what llama.cpp can hold
	CodeExperts   = "gguf.expert-count"
	CodeRope      = "gguf.rope-scaling" // a kind of scaling that llama.cpp does not know
	CodeEpsilon   = "gguf.epsilon"      // a norm's epsilon that is no small positive number
	CodeCount     = "gguf.token-count"  // arrays of the vocabulary that differ in length
	CodeTokenID   = "gguf.token-id"     // a special token beyond the vocabulary
	CodeCharsMap  = "gguf.charsmap"     // too short for what it announces
	CodeTokenDup  = "gguf.token-dup"    // two equal tokens
	CodeTokenByte = "gguf.token-byte"   // <0x..> that is no byte
	CodeTextNUL   = "gguf.text-nul"     // a NUL in an element, by quirk
	CodeName      = "gguf.name-long"    // a tensor name over 63 bytes
	CodeRemoved   = "gguf.type-removed"
	CodeUnknown   = "gguf.type-unknown"
	CodeNegative  = "gguf.type-negative" // 2^31 and above
	CodeInternal  = "gguf.type-internal" // Q8_1 and Q8_K: ggml cannot decode them
	CodeWeight    = "gguf.weight-type"   // a matrix of whole numbers or doubles
	CodeEmpty     = "gguf.shape-empty"   // no element
	CodeScalar    = "gguf.shape-scalar"  // no dimension
	CodeWide      = "gguf.shape-wide"    // a dimension above 2^31-1
	CodeTensor    = "gguf.tensor-unknown"
)

// The versions of other readers that the texts of findings refer to.
const (
	llamaCPP = "llama.cpp 0c1e57098"
	ggufPy   = "gguf-py 0.19"
)

// findings looks for what other readers abort on, refuse or read differently. Only the
// policy refuses it here.
func (d *decoder) findings() error {
	for _, look := range [...]func() error{d.checkLayout, d.checkKeys, d.checkBounds, d.checkVocabulary, d.checkTensors, d.checkTemplates} {
		if err := look(); err != nil {
			return err
		}
	}
	d.stage = stDone
	return nil
}

func (d *decoder) addFinding(code string, s tensor.Severity, where string, off int64, format string, args ...any) error {
	return d.out.Found.Add(d.b, Format, tensor.Finding{Code: code, Severity: s, Where: where, Off: off, Text: fmt.Sprintf(format, args...)})
}

// checkLayout adds findings about the file as a whole.
func (d *decoder) checkLayout() error {
	f := d.out
	if f.version == 1 {
		if err := d.addFinding(CodeVersion, tensor.Warning, "version", 4,
			"version 1: %s and %s refuse it, ollama's own reader takes its lengths for 64 bits", llamaCPP, ggufPy); err != nil {
			return err
		}
	}
	if f.order == tensor.Big {
		if err := d.addFinding(CodeBigEndian, tensor.Note, "version", 4,
			"big-endian: %s on a little-endian machine and ollama refuse it", llamaCPP); err != nil {
			return err
		}
	}
	if f.alignment < 32 && len(f.Infos) > 0 {
		if err := d.addFinding(CodeAlignment, tensor.Warning, "key "+wire.Quote(alignKey), d.keyOffset(alignKey),
			"alignment %d: %s aborts on tensors that are not aligned to 32", f.alignment, llamaCPP); err != nil {
			return err
		}
	}
	if err := d.checkGaps(); err != nil {
		return err
	}
	if len(f.Infos) == 0 || f.Infos[len(f.Infos)-1].DType == tensor.Unknown {
		return nil
	}
	end, _ := pad(uint64(f.dataEnd-f.dataStart), f.alignment)
	if missing := f.dataStart + int64(end) - f.size; missing > 0 {
		return d.addFinding(CodePadding, tensor.Note, "", f.size,
			"%d bytes of padding are missing after the last tensor: ggml's gguf_init_from_file with data refuses it", missing)
	}
	return nil
}

// checkGaps adds a finding about the gaps that the quirk allowed.
func (d *decoder) checkGaps() error {
	f := d.out
	gaps, first := 0, 0
	for i := 1; i < len(f.Infos); i++ {
		before := &f.Infos[i-1]
		end, _ := pad(uint64(before.Span.End()-f.dataStart), f.alignment)
		if before.DType != tensor.Unknown && f.rows[i].offset > end {
			if gaps++; gaps == 1 {
				first = i
			}
		}
	}
	if len(f.rows) > 0 && f.rows[0].offset > 0 {
		gaps, first = gaps+1, 0
	}
	if gaps == 0 {
		return nil
	}
	return d.addFinding(CodeGaps, tensor.Warning, place("tensor", first, f.Infos[first].Name), f.offsetAt(first),
		"%d tensors begin after unused bytes: %s refuses the file, %s does not check", gaps, llamaCPP, ggufPy)
}

func (d *decoder) keyOffset(key string) int64 {
	if p := d.out.find(key); p != nil {
		return p.off
	}
	return wire.NoOffset
}

// findings adds findings about the elements that were read.
func (v *verifier) findings() error {
	f, b := v.out, v.b
	add := func(code string, s tensor.Severity, key string, off int64, format string, args ...any) error {
		return f.Found.Add(b, Format, tensor.Finding{Code: code, Severity: s, Where: "key " + wire.Quote(key), Off: off, Text: fmt.Sprintf(format, args...)})
	}
	if o := v.tokens; o != nil && o.second != 0 {
		if err := add(CodeTokenDup, tensor.Warning, tokensKey, o.second,
			"token %d is equal to the one at %#x: %s aborts", o.index, o.first, llamaCPP); err != nil {
			return err
		}
	}
	if o := v.tokens; o != nil && o.badByte != 0 {
		if err := add(CodeTokenByte, tensor.Warning, tokensKey, o.badByte,
			"token %d has the form of a byte, <0xHH>, but is not one: tokenizers that take it for one write out of bounds (llama.cpp issue 26511)", o.badIndex); err != nil {
			return err
		}
	}
	if v.nulAt != 0 {
		return add(CodeTextNUL, tensor.Warning, v.nulKey, v.nulAt, "an element holds a NUL: %s reads up to it, %s reads all", llamaCPP, ggufPy)
	}
	return nil
}
