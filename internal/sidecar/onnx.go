package sidecar

import (
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// onnx.load also reads models as text, by their extension: protobuf's text and JSON
// formats, and a notation of its own. Only the paths of external data are judged, because
// onnx 1.15 follows a path out of the folder.

// protoText judges a protobuf text, which Caffe's networks are as well.
func (r *reader) protoText() error {
	if err := r.caffe(); err != nil {
		return err
	}
	r.begin()
	return r.onnxText()
}

// onnxText goes through the tokens of
//
//	external_data { key: "location" value: "model.data" }
//	float[2] w = ["location": "model.data"]
//
// which are protobuf's text and ONNX's own notation. Graphs of TensorFlow are protobuf's
// text too.
func (r *reader) onnxText() error {
	var (
		field  string // the last name
		inData bool   // only key and value were named since external_data
		paired string // a text followed by a colon
		text   []byte
	)
	for {
		c, err := r.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case c == '#':
			err = r.skipLine()
		case c == '"' || c == '\'':
			if text, err = r.textOf(c, text); err == nil && (inData && field == "value" || paired == "location" || strings.Contains(paired, `\`)) {
				err = r.externalData(string(text))
			}
			if err == nil && field == "op" {
				err = r.operation(string(text))
			}
		case inName(c):
			if field, err = r.name(c); err == nil {
				inData = field == "external_data" || inData && (field == "key" || field == "value")
			}
			paired = ""
		case c == ':':
			paired = string(text)
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue // adjacent texts are one
		default:
			paired = ""
		}
		if err != nil && err != io.EOF {
			return err
		}
		if c != '#' && c != '"' && c != '\'' {
			text = text[:0]
		}
	}
}

// name reads a name that begins with c.
func (r *reader) name(c byte) (string, error) {
	text := []byte{c}
	for {
		c, err := r.next()
		if err != nil || !inName(c) {
			if err == nil {
				r.back()
			}
			return string(text), err
		}
		if len(text) < maxText {
			text = append(text, c)
		}
	}
}

// skipLine skips a comment.
func (r *reader) skipLine() error {
	for {
		if c, err := r.next(); err != nil || c == '\n' {
			return err
		}
	}
}

// textOf appends as much of a quoted text as is kept. It keeps the backslash of an
// escape, so that no accepted path can have one.
func (r *reader) textOf(quote byte, text []byte) ([]byte, error) {
	for {
		c, err := r.next()
		if err != nil || c == quote {
			return text, err
		}
		if c == '\\' {
			if _, err := r.next(); err != nil {
				return text, err
			}
		}
		if len(text) < maxText {
			text = append(text, c)
		}
	}
}

// externalData judges a path of an ONNX model's data. A number can be a path too.
func (r *reader) externalData(text string) error {
	if text == "" || !leaves(text) {
		return nil
	}
	return r.once("onnx.external-path", tensor.Danger, "", r.off, "an ONNX model as text reads data from "+wire.Quote(text))
}
