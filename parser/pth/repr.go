package pth

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/vm"
)

// maxRepr bounds the text of a key that is not a string.
const maxRepr = 128

// repr formats a key as Python's repr does: numbers, constants, bytes and tuples of
// those. Of others it gives the kind.
func repr(v vm.Value) string {
	var out strings.Builder
	writeRepr(v, &out)
	return wire.Text(out.String(), maxRepr)
}

func writeRepr(v vm.Value, out *strings.Builder) {
	if out.Len() > maxRepr {
		return
	}
	switch v.Kind() {
	case vm.KindNone:
		out.WriteString("None")
	case vm.KindBool:
		if v.Bool() {
			out.WriteString("True")
		} else {
			out.WriteString("False")
		}
	case vm.KindInt:
		out.WriteString(integerText(v))
	case vm.KindFloat:
		out.WriteString(floatText(v.Float()))
	case vm.KindText:
		quoteRepr(v.Text()[:min(v.Len(), maxRepr)], true, out)
	case vm.KindBytes:
		out.WriteByte('b')
		quoteRepr(v.Text()[:min(v.Len(), maxRepr)], false, out)
	case vm.KindTuple:
		out.WriteByte('(')
		writeElems(v, out)
		if v.Len() == 1 {
			out.WriteByte(',')
		}
		out.WriteByte(')')
	case vm.KindGlobal:
		out.WriteString(v.Global().String())
	case vm.KindObject:
		objectRepr(v, out)
	default:
		out.WriteString("<" + v.Kind().String() + ">")
	}
}

func writeElems(v vm.Value, out *strings.Builder) {
	for i := range min(v.Len(), maxRepr) {
		if i > 0 {
			out.WriteString(", ")
		}
		writeRepr(v.At(i), out)
	}
}

// objectRepr writes the few objects that are used as keys of checkpoints.
func objectRepr(v vm.Value, out *strings.Builder) {
	switch args := v.Args(); {
	case v.Is(vm.TorchSize):
		out.WriteString("torch.Size([")
		if args.Len() == 1 {
			writeElems(args.At(0), out)
		}
		out.WriteString("])")
	case v.Is(vm.Complex) && args.Len() == 2:
		complexRepr(real64(args.At(0)), real64(args.At(1)), out)
	case v.Is(vm.TorchVersion) && args.Len() == 1:
		writeRepr(args.At(0), out)
	default:
		out.WriteString("<" + v.Kind().String() + ">")
	}
}

// complexRepr omits a real part of +0, as Python does.
func complexRepr(re, im float64, out *strings.Builder) {
	part := func(f float64) string { return strings.TrimSuffix(floatText(f), ".0") }
	if re == 0 && !math.Signbit(re) {
		out.WriteString(part(im) + "j")
		return
	}
	text := part(im)
	if text[0] != '-' {
		text = "+" + text
	}
	out.WriteString("(" + part(re) + text + "j)")
}

// quoteRepr quotes text or bytes as Python does: in double quotes if there are only
// single quotes inside, else in single quotes, with unprintable characters escaped.
func quoteRepr(s string, isText bool, out *strings.Builder) {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	out.WriteByte(quote)
	for len(s) > 0 {
		r, n := rune(s[0]), 1
		if isText {
			if r, n = utf8.DecodeRuneInString(s); r == utf8.RuneError && n == 1 {
				r = rune(s[0])
			}
		}
		writeRune(r, quote, isText, out)
		s = s[n:]
	}
	out.WriteByte(quote)
}

func writeRune(r rune, quote byte, isText bool, out *strings.Builder) {
	switch {
	case r == rune(quote) || r == '\\':
		out.WriteByte('\\')
		out.WriteByte(byte(r))
	case r == '\n':
		out.WriteString(`\n`)
	case r == '\r':
		out.WriteString(`\r`)
	case r == '\t':
		out.WriteString(`\t`)
	case r >= ' ' && r < 0x7f || isText && r > 0x7f && unicode.IsPrint(r):
		out.WriteRune(r)
	case r < 0x100:
		fmt.Fprintf(out, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(out, `\u%04x`, r)
	default:
		fmt.Fprintf(out, `\U%08x`, r)
	}
}

// maxBits bounds the integers that are shown in decimal, since the conversion takes
// quadratic time.
const maxBits = 1024

func integerText(v vm.Value) string {
	if n, ok := v.Int(); ok {
		return strconv.FormatInt(n, 10)
	}
	n := v.Big()
	if bits := n.BitLen(); bits > maxBits {
		return "integer of " + strconv.Itoa(bits) + " bits"
	}
	return n.String()
}

// floatText formats a float as Python's repr: the shortest digits that read back, with an
// exponent below 1e-4 and from 1e16 on.
func floatText(f float64) string {
	s := strconv.FormatFloat(f, 'e', -1, 64)
	_, exp, found := strings.Cut(s, "e")
	if !found { // NaN, +Inf, -Inf
		return strings.ToLower(strings.TrimPrefix(s, "+"))
	}
	if n, _ := strconv.Atoi(exp); n < -4 || n >= 16 {
		return s
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
