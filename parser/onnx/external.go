package onnx

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// checkExternal checks the location of external data.
func (a *tensorProto) checkExternal(c *wire.Cursor, where string, at, size int64) error {
	d := a.d
	if err := a.checkDescription(); err != nil {
		return c.FailAt(where, at, err)
	}
	off, err := a.checkRange(size)
	if err != nil {
		return c.FailAt(where, at, err)
	}
	a.e.place, a.e.span = external, tensor.Span{Off: off, Len: size}
	if why := escapesFolder(a.location); why != "" || slices.Contains(a.keys, "basepath") {
		if why == "" {
			why = "with a base path of its own"
		}
		a.e.file = nowhereNear
		return d.out.Found.Add(d.b, Format, tensor.Finding{Code: "onnx.external-path", Severity: tensor.Danger, Where: where, Off: at,
			Text: "its data are read from " + wire.Quote(a.location) + ", " + why})
	}
	if k, seen := d.files[a.location]; seen {
		a.e.file = k
		return nil
	}
	if len(d.out.External) >= maxExternal {
		return c.FailAt(where, at, wire.ErrUnsupported.WithRule("onnx.external-many").Errorf("external data in more than %d files", maxExternal))
	}
	name, err := limits.String(d.b, []byte(a.location))
	if err != nil {
		return c.FailAt(where, at, err)
	}
	if err := d.b.Hold(64); err != nil { // its place in the map
		return c.FailAt(where, at, err)
	}
	a.e.file = int32(len(d.out.External))
	d.out.External, d.files[name] = append(d.out.External, name), a.e.file
	return nil
}

// checkDescription checks the description of where external data is.
func (a *tensorProto) checkDescription() error {
	switch {
	case !a.isExternal:
		return wire.ErrMismatch.WithRule("onnx.external-both").Errorf("the tensor names external data, but its data are stored inline")
	case a.hasRaw || a.numbers > 0:
		return wire.ErrMismatch.WithRule("onnx.external-both").Errorf("data both inline and external")
	case types[a.typ].bits == 0:
		return wire.ErrMismatch.WithRule("onnx.data-size").Errorf("texts cannot be external data")
	case a.badExternal:
		return wire.ErrDuplicate.WithRule("onnx.external-twice").Errorf("external data described twice, or by a text that is too long")
	case a.location == "":
		return wire.ErrMissing.WithRule("onnx.external-location").Errorf("external data without a location")
	}
	for _, k := range a.keys {
		if k != "location" && k != "offset" && k != "length" && k != "checksum" && k != "basepath" {
			return wire.ErrUnsupported.WithRule("onnx.external-key").Errorf("unknown key %s of external data", wire.Quote(k))
		}
	}
	return nil
}

// nowhereNear is the file of external data that no model may have.
const nowhereNear = -1

// maxExternal bounds the files that hold a model's data.
const maxExternal = 1024

// checkRange returns the offset of external data, and checks it and the length of external data against the size that shape and type
// require. Both must be plain decimal numbers: ONNX Runtime accepts spellings, such as 0x8, that
// onnx rejects.
func (a *tensorProto) checkRange(size int64) (off int64, err error) {
	for i, key := range [...]string{"offset", "length"} {
		if !slices.Contains(a.keys, key) {
			continue
		}
		n, err := strconv.ParseUint(a.ranges[i], 10, 63)
		switch {
		case err != nil, a.ranges[i] != strconv.FormatUint(n, 10), key == "offset" && n > uint64(wire.MaxSize-size):
			return 0, wire.ErrSyntax.WithRule("onnx.external-range").Errorf("the %s of external data is %s, not a decimal number in range", key, wire.Quote(a.ranges[i]))
		case key == "length" && n != uint64(size):
			return 0, wire.ErrMismatch.WithRule("onnx.data-size").Errorf("%d bytes of external data, but shape and type need %d", n, size)
		case key == "offset":
			off = int64(n)
		}
	}
	return off, nil
}

// escapesFolder returns why a path may lead out of the model's folder or not to a file, or "".
func escapesFolder(path string) string {
	switch {
	case strings.ContainsAny(path, "\\\x00"), !utf8.ValidString(path):
		return ambiguous
	case strings.HasPrefix(path, "/"), len(path) > 1 && path[1] == ':':
		return "an absolute path"
	case strings.Contains(path, "://"):
		return "an address"
	}
	part := ""
	for part = range strings.SplitSeq(path, "/") {
		switch {
		case part == "..":
			return "outside of its folder"
		case part != "." && isAmbiguousName(part):
			return ambiguous
		}
	}
	if part == "." || part == "" {
		return "a folder"
	}
	return ""
}

const ambiguous = "a path that systems read in different ways"

// isAmbiguousName reports whether Windows takes a name for another one or a device: it drops
// dots and spaces at the end, and replaces characters that look like dots.
func isAmbiguousName(part string) bool {
	stem, _, _ := strings.Cut(part, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	isPort := len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")) && stem[3] >= '0' && stem[3] <= '9'
	return strings.TrimRight(part, " .") != part || isPort || slices.Contains([]string{"CON", "PRN", "AUX", "NUL"}, stem) ||
		strings.ContainsFunc(part, func(r rune) bool {
			return r < ' ' || strings.ContainsRune("<>:\"|?*\u00ad\u2024\u2025\u2026\uff0e\uff0f\uff3c\u2044\u2215", r)
		})
}
