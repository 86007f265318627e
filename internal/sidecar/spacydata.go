package sidecar

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/msgpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// spacyFiles are files of a pipeline that spaCy reads as MessagePack, and how many folders lie between
// them and its config.cfg.
var spacyFiles = map[string]int{"tokenizer": 0, "model": 1, "moves": 1, "key2row": 1, "patterns": 1, "lookups.bin": 2}

// spacyPatterns are members of a tokenizer that spaCy compiles as regular expressions.
var spacyPatterns = []string{"prefix_search", "suffix_search", "infix_finditer", "token_match", "url_match"}

// spacyURL is the SHA-256 of the expression for addresses that spaCy gives to the tokenizers of all its
// languages, from 3.0 to 3.8.
var spacyURL = [sha256.Size]byte{0x7a, 0xdb, 0x13, 0x42, 0x67, 0x27, 0x74, 0xf9, 0x4f, 0xfb, 0x32, 0xef, 0x3b, 0xc6, 0xeb, 0x2f, 0x7a, 0x5a, 0x80, 0x3a, 0xb8, 0xc5, 0x19, 0x20, 0xbb, 0xa1, 0x9c, 0x34, 0xfd, 0x9c, 0xec, 0x14}

// spacyFrench is that of the words with marks in them that spaCy 3.8 keeps whole in French.
var spacyFrench = [sha256.Size]byte{0x52, 0x07, 0x0e, 0xce, 0xe5, 0x95, 0x16, 0xe7, 0xe9, 0xff, 0x5d, 0x79, 0xae, 0xae, 0xc9, 0x73, 0xef, 0x15, 0xfc, 0xf6, 0x8c, 0x34, 0x02, 0x10, 0x21, 0xbc, 0x29, 0x3f, 0x52, 0xbd, 0x41, 0x73}

// digestOf is the SHA-256 of a text.
func digestOf(b *limits.Budget, v msgpack.Value) (sum [sha256.Size]byte, err error) {
	if v.Long == nil {
		return sha256.Sum256([]byte(v.Text)), nil
	}
	if err := b.Step(1 + v.Size/stepLen); err != nil {
		return sum, err
	}
	h := sha256.New()
	for v.Long.Left() > 0 {
		p, err := v.Long.Window(1)
		if err != nil {
			return sum, err
		}
		h.Write(p)
		if err := v.Long.Skip(uint64(len(p))); err != nil {
			return sum, err
		}
	}
	h.Sum(sum[:0])
	return sum, nil
}

// IsOfSpaCy reports whether the file is one that spaCy reads as MessagePack in a folder of its own.
func IsOfSpaCy(t Text) (bool, error) {
	up, is := spacyFiles[baseOf(t.Name)]
	if !is || t.Around == nil {
		return false, nil
	}
	for i := range up + 1 {
		f, known, err := t.Around(i)
		if err != nil || !known {
			return false, err
		}
		if f&kindOf("spaCy") != 0 {
			return true, nil
		}
	}
	return false, nil
}

// SpaCyData returns the findings about such a file. thinc gives what a model keeps below "shims" to
// the library that a layer wraps, and PyTorch's unpickles it; the type of an array may be one of Python's
// objects, and the bytes then are their addresses.
func SpaCyData(b *limits.Budget, t Text) ([]tensor.Finding, error) {
	var found told
	tokenizer := baseOf(t.Name) == "tokenizer"
	add := func(code string, v msgpack.Value, text string) error {
		return found.add(b, tensor.Finding{Code: code, Severity: tensor.Danger, Where: wire.Quote(lastOf(v.Keys)), Off: v.Off, Text: text})
	}
	err := msgpack.Read(b, wire.NewCursor(b, format, t.R, t.Size), func(v msgpack.Value) error {
		switch key := lastOf(v.Keys); {
		case v.Kind != msgpack.List && slices.Contains(v.Keys, "shims"):
			return add("sidecar.pickle", v, "thinc gives these bytes to the library that a layer wraps, and PyTorch's unpickles them")
		case v.Kind > msgpack.Bytes || v.Kind < msgpack.Text:
			return nil
		case key == "type" && !isNumeric(v.Text), key == "kind" && v.Text != "":
			return add("sidecar.pickle", v, "an array of "+wire.Quote(v.Text)+": NumPy would take its bytes for objects of Python, or for a type with parts")
		case tokenizer && len(v.Keys) == 1 && slices.Contains(spacyPatterns, key) && v.Size > 0:
			return spacyPattern(b, v, add)
		}
		return nil
	})
	list, none := found.all(b)
	return list, cmp.Or(err, none)
}

// spacyPattern judges a regular expression of a tokenizer.
func spacyPattern(b *limits.Budget, v msgpack.Value, add func(code string, v msgpack.Value, text string) error) error {
	sum, err := digestOf(b, v)
	if err != nil || sum == spacyURL || sum == spacyFrench {
		return err
	}
	if v.Long != nil {
		return add(codeRegex, v, "an expression of a tokenizer is longer than any honest one")
	}
	why, err := slowRegexOf(b, v.Text, false, msgpack.MaxText)
	if err != nil || why == "" {
		return err
	}
	return add(codeRegex, v, "spaCy's tokenizer matches each text with this expression: "+why)
}

func lastOf(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[len(keys)-1]
}

// isNumeric reports whether a text is NumPy's name of a type of numbers, as <f4.
func isNumeric(text string) bool {
	text = strings.TrimLeft(text, "<>|=")
	return text != "" && strings.IndexByte("?bBiufc", text[0]) >= 0 && len(text) < 4 && strings.Trim(text[1:], "0123456789") == ""
}
