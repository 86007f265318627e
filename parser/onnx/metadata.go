package onnx

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// maxProperty bounds a kept value of the metadata: the names of a thousand classes.
const maxProperty = 64 << 10

// evaluatedKeys are the keys whose values YOLOv5 and older Ultralytics pass to Python's eval.
var evaluatedKeys = map[string]bool{"names": true, "imgsz": true, "kpt_shape": true, "kpt_names": true, "channels": true}

// A metadataEntry is an entry of a model's metadata.
type metadataEntry struct {
	keyValue

	d *decoder
}

func (p *metadataEntry) End(_ *wire.Cursor, at int64) error {
	if !evaluatedKeys[p.key] || !p.long && isLiteral(p.value) {
		return nil
	}
	return p.d.out.Found.Add(p.d.b, Format, tensor.Finding{Code: "onnx.expression", Severity: tensor.Danger, Where: "metadata " + wire.Quote(p.key), Off: at,
		Text: "YOLOv5 evaluates " + wire.Quote(p.value)})
}

// isLiteral reports whether a Python expression runs nothing: no string has a prefix, and no
// parenthesis follows something that could be called.
func isLiteral(text string) bool {
	var last byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case strings.IndexByte(" \t\r\n\f\\", c) >= 0:
			continue
		case c == '\'' || c == '"':
			if isWord(last) {
				return false
			}
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if i >= len(text) || i+1 < len(text) && text[i+1] == c {
				return false // it does not end, or three quotes begin it
			}
		case c == '(' && (isWord(last) || last != 0 && strings.IndexByte(`)]}"'`, last) >= 0):
			return false
		}
		last = text[i]
	}
	return true
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
