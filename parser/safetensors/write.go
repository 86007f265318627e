package safetensors

import (
	"strconv"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A writer appends JSON to a buffer that is charged to the account. It keeps its first
// error.
type writer struct {
	b   *limits.Budget
	buf []byte
	err error
}

func (w *writer) put(s string) {
	if w.err != nil {
		return
	}
	if len(w.buf)+len(s) > lengthSize+MaxHeader { // lengthSize+MaxHeader is a multiple of 8, so the padding fits too
		w.err = wire.ErrUnsupported.Errorf("the header needs more than the %d bytes that the format allows", MaxHeader)
		return
	}
	if w.buf, w.err = limits.Grow(w.b, w.buf, len(s)); w.err == nil {
		w.buf = append(w.buf, s...)
	}
}

func (w *writer) metadata(meta []Entry) {
	w.put(`"` + metadataKey + `":{`)
	for i, e := range meta {
		if i > 0 {
			w.put(",")
			if w.err == nil && meta[i-1].Key == e.Key {
				w.err = wire.ErrDuplicate.Errorf("two entries of the metadata are named %s", wire.Quote(e.Key))
			}
		}
		if w.err == nil && !(utf8.ValidString(e.Key) && utf8.ValidString(e.Value)) {
			w.err = wire.ErrUnsupported.Errorf("the metadata %s is not UTF-8", wire.Quote(e.Key))
		}
		w.quote(e.Key)
		w.put(":")
		w.quote(e.Value)
	}
	w.put("}")
}

func (w *writer) tensor(t *tensor.Info, off int64) {
	w.quote(t.Name)
	w.put(`:{"dtype":"`)
	w.put(dtypes[rank(t.DType)].name)
	w.put(`","shape":[`)
	for i, n := range t.Shape {
		if i > 0 {
			w.put(",")
		}
		w.number(n)
	}
	w.put(`],"data_offsets":[`)
	w.number(off)
	w.put(",")
	w.number(off + int64(byteSize(t)))
	w.put("]}")
}

func (w *writer) number(n int64) {
	var p [20]byte
	w.put(string(strconv.AppendInt(p[:0], n, 10)))
}

// quote writes a string with the escapes that serde_json uses: the short ones
// where JSON has them, \u00xx for other control characters, nothing else.
func (w *writer) quote(s string) {
	w.put(`"`)
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		w.put(s[start:i])
		start = i + 1
		w.put(escape(c))
	}
	w.put(s[start:])
	w.put(`"`)
}

func escape(c byte) string {
	switch c {
	case '\b':
		return `\b`
	case '\t':
		return `\t`
	case '\n':
		return `\n`
	case '\f':
		return `\f`
	case '\r':
		return `\r`
	case '"', '\\':
		return `\` + string(rune(c))
	}
	const hex = "0123456789abcdef"
	return `\u00` + hex[c>>4:c>>4+1] + hex[c&15:c&15+1]
}
