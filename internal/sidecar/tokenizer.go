package sidecar

import (
	"encoding/base64"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// codeTokenizer is the code of findings about a tokenizer that takes all memory, or ends what
// runs it.
const codeTokenizer = "sidecar.tokenizer"

const (
	// maxPadding is the longest text to which a tokenizer fills another.
	maxPadding = 1 << 20
	// maxGrowth is how many bytes a tokenizer's steps may make of one.
	maxGrowth = 1 << 20
	// tableGrowth is what a table of characters makes of one, at most: that of NFKC makes 18.
	tableGrowth = 18
)

// The steps of a tokenizer that rewrite a text.
const (
	normalizes = iota
	splits
	decodes
	noSteps
)

// A replacement is what one step replaces.
type replacement struct {
	pattern, content value
	least, size      int64 // of the pattern and the content, in bytes
	any              bool  // the pattern is an expression
	factor           int64 // of a step that multiplies by itself
}

// grown is what the steps before made of one byte, and the bytes that they put in.
type grown struct {
	by  int64
	has [256]bool
}

// inSteps returns of which steps the current value is a part, or noSteps.
func (w *walk) inSteps() int {
	if len(w.open) == 0 || w.open[0].list {
		return noSteps
	}
	switch w.open[0].key {
	case "normalizer":
		return normalizes
	case "pre_tokenizer":
		return splits
	case "decoder":
		return decodes
	}
	return noSteps
}

// padded judges a number to which the tokenizers library fills each text.
func (w *walk) padded(text string, at int64) error {
	key := w.here()
	if key != "pad_to_multiple_of" && !(key == "Fixed" && w.below("strategy")) {
		return nil
	}
	n, ok, err := wire.Float(text, w.steps.Take)
	if err != nil || text == "null" || ok && n <= maxPadding {
		return err
	}
	return w.once(codeTokenizer, tensor.Danger, key, at, "tokenizers fills each text up to "+wire.Quote(text)+" tokens, and aborts where the memory ends")
}

// ofTokenizer judges a text in the steps of a tokenizer.
func (w *walk) ofTokenizer(key string, k *kept, at int64) error {
	in := w.inSteps()
	if in == noSteps {
		return nil
	}
	f := &w.open[len(w.open)-1]
	switch {
	case key == "Regex":
		why, err := slowRegex(w.b, k.text, true)
		if why != "" {
			err = w.once(codeRegex, tensor.Danger, key, at, "tokenizers matches texts with "+wire.Quote(k.text)+": "+why)
		}
		k.text = k.text[:min(len(k.text), maxText)]
		if len(w.open) > 1 {
			w.open[len(w.open)-2].steps.any = true
		}
		return err
	case key == "String" && len(w.open) > 1:
		s := &w.open[len(w.open)-2].steps
		s.pattern, s.least = value{text: k.text, off: at}, k.size
	case key == "content":
		f.steps.content, f.steps.size = value{text: k.text, off: at}, k.size
	case key == "type" && k.text == "ByteLevel":
		f.steps.factor = 2
	case key == "type" && k.text == "Precompiled":
		f.steps.factor = tableGrowth
	case key == "precompiled_charsmap":
		return w.charsMap(k, at)
	}
	return nil
}

// isCharsMap reports whether the current value is a table of characters, all of which is read.
func (w *walk) isCharsMap(key string) bool {
	return key == "precompiled_charsmap" && w.inSteps() != noSteps
}

// maxCharsMap is the longest table of characters in base64 that is judged.
const maxCharsMap = wire.MaxCharsMap / 3 * 4

// charsMap judges a table of characters, as that of a GGUF file.
func (w *walk) charsMap(k *kept, at int64) error {
	why := "longer than any honest one"
	if k.size <= maxCharsMap {
		held := k.size + int64(base64.StdEncoding.DecodedLen(len(k.text)))
		if err := w.b.Hold(held); err != nil {
			return err
		}
		defer w.b.Drop(held)
		if err := w.b.Step(1 + k.size/stepLen); err != nil {
			return err
		}
		table, err := base64.StdEncoding.DecodeString(k.text)
		if err != nil {
			why = "no base64"
		} else if why, err = wire.CharsMap(w.b, table); err != nil {
			return err
		}
	}
	k.text = strings.Clone(k.text[:min(len(k.text), maxText)])
	if why == "" {
		return nil
	}
	return w.once(codeTokenizer, tensor.Danger, "precompiled_charsmap", at, "tokenizers panics for some texts because of the table of characters: "+why)
}

// replaced multiplies what the steps of a tokenizer make of one byte, at the end of an object.
// Text from earlier steps that a pattern cannot match grows only once.
func (w *walk) replaced(f *frame) error {
	s, in := &f.steps, w.inSteps()
	if in == noSteps || s.size == 0 && s.factor == 0 {
		return nil
	}
	g := &w.grown[in]
	by, again := max(1, s.factor), s.factor > 0
	if s.size > 0 {
		switch {
		case s.any || s.pattern.off > 0 && s.least == 0: // it may find nothing, and put the content there
			by, again = by*(s.size+1), true
		case s.least > 0:
			by *= (s.size + s.least - 1) / s.least
			again = again || len(s.pattern.text) > 0 && g.has[s.pattern.text[0]]
		}
		for i := range len(s.content.text) {
			g.has[s.content.text[i]] = true
		}
		if s.size > int64(len(s.content.text)) {
			for i := range g.has {
				g.has[i] = true // the rest of it was not kept
			}
		}
	}
	by = min(by, maxGrowth+1)
	if again {
		g.by = max(1, g.by) * by
	} else {
		g.by = max(g.by, by)
	}
	if g.by <= maxGrowth {
		return nil
	}
	g.by = maxGrowth + 1
	return w.once(codeTokenizer, tensor.Danger, "content", s.content.off, "the steps of the tokenizer make more than a million bytes of one: tokenizers aborts where the memory ends")
}
