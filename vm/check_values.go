package vm

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"
)

// The rules of values: a number or a text that the library itself refuses, when it is
// loaded or when it is first printed, is no data.

// maxRune is the last character that Python has.
const maxRune = 0x10FFFF

// elementDepth bounds structures in structures whose texts are looked at.
const elementDepth = 8

// textsFit reports whether every character of an array of texts is one of Python's, and
// every moment without a unit no time, which is all that NumPy makes of one.
func (m *matcher) textsFit(dtype, data ref) bool {
	if !m.holdsTexts(dtype, elementDepth) {
		return true
	}
	size, _, ok := m.codeSize(dtype)
	text := m.g.text(data)
	if !ok || m.g.kind(data) == KindText {
		// Python 2 wrote the bytes as a text, and texts of one byte for each character.
		return ok && utf8.RuneCountInString(text) == len(text)
	}
	if size == 0 {
		return true
	}
	for at := uint64(0); at+size <= uint64(len(text)); at += size {
		if !m.elementFits(dtype, text[at:at+size], elementDepth) {
			return false
		}
	}
	return true
}

// holdsTexts reports whether an element has bytes that may be no value.
func (m *matcher) holdsTexts(dtype ref, depth int) bool {
	if m.cost++; depth == 0 {
		return true
	}
	code, _ := m.codeText(dtype)
	if strings.HasPrefix(code, "U") || code == "M8" && m.isUnitless(dtype) {
		return true
	}
	if base, _, ok := m.subarray(dtype); ok {
		return m.holdsTexts(base, depth-1)
	}
	fields, ok := m.fieldsOf(dtype)
	for i := range fields.n {
		if ok && m.holdsTexts(m.fieldType(fields, i), depth-1) {
			return true
		}
	}
	return false
}

// isUnitless reports whether a type of times has no unit.
func (m *matcher) isUnitless(dtype ref) bool {
	state := m.g.state(dtype)
	if state == refAbsent || m.g.kind(state) != KindTuple || m.g.node(state).n <= dtypeMeta {
		return true
	}
	meta := m.arg(state, dtypeMeta)
	return m.g.kind(meta) != KindTuple || m.g.node(meta).n != 2 || m.g.kind(m.arg(meta, 1)) != KindTuple ||
		m.g.node(m.arg(meta, 1)).n == 0 || m.textOf(m.arg(m.arg(meta, 1), 0)) == "generic"
}

// subarray returns the type and the shape of the elements of an element.
func (m *matcher) subarray(dtype ref) (base, shape ref, ok bool) {
	state := m.g.state(dtype)
	if state == refAbsent || m.g.kind(state) != KindTuple || m.g.node(state).n <= dtypeSubarray || m.arg(state, dtypeSubarray) == refNone {
		return 0, 0, false
	}
	sub := m.arg(state, dtypeSubarray)
	return m.arg(sub, 0), m.arg(sub, 1), true
}

// fieldsOf returns the fields of a structure, or none.
func (m *matcher) fieldsOf(dtype ref) (*node, bool) {
	state := m.g.state(dtype)
	if state == refAbsent || m.g.kind(state) != KindTuple || m.g.node(state).n <= dtypeFields || m.arg(state, dtypeFields) == refNone {
		return &node{}, false
	}
	return m.g.node(m.arg(state, dtypeFields)), true
}

// elementFits looks at the bytes of one element.
func (m *matcher) elementFits(dtype ref, text string, depth int) bool {
	if m.cost += 1 + int64(len(text)/32); depth == 0 || m.cost > m.allowed() {
		return false // settle ends the run
	}
	if base, _, ok := m.subarray(dtype); ok {
		size, _, known := m.codeSize(base)
		for at := uint64(0); known && size > 0 && at+size <= uint64(len(text)); at += size {
			if !m.elementFits(base, text[at:at+size], depth-1) {
				return false
			}
		}
		return known
	}
	if fields, ok := m.fieldsOf(dtype); ok {
		for i := range fields.n {
			at, size, known := m.field(fields, i)
			if !known || at+size > uint64(len(text)) || !m.elementFits(m.fieldType(fields, i), text[at:at+size], depth-1) {
				return false
			}
		}
		return true
	}
	code, _ := m.codeText(dtype)
	switch {
	case strings.HasPrefix(code, "U"):
		return areRunes(text, m.isBigEndian(dtype))
	case code == "M8" && m.isUnitless(dtype):
		return isNoTime(text, m.isBigEndian(dtype))
	}
	return true
}

func areRunes(text string, bigEndian bool) bool {
	order := binary.ByteOrder(binary.LittleEndian)
	if bigEndian {
		order = binary.BigEndian
	}
	for ; len(text) >= 4; text = text[4:] {
		if order.Uint32([]byte(text[:4])) > maxRune {
			return false
		}
	}
	return true
}

func isNoTime(text string, bigEndian bool) bool {
	if len(text) != 8 {
		return false
	}
	if bigEndian {
		return binary.BigEndian.Uint64([]byte(text)) == 1<<63
	}
	return binary.LittleEndian.Uint64([]byte(text)) == 1<<63
}

// isNumeric reports whether r is a number of Python or NumPy.
func (m *matcher) isNumeric(r ref) bool {
	switch m.g.kind(r) {
	case KindInt, KindFloat, KindBool:
		return true
	case KindObject:
		if m.g.id(r) == Complex {
			return true
		}
		if m.g.id(r) != NumpyScalar {
			return false
		}
		dtype := m.arg(m.argsOf(r), 0)
		if m.g.kind(dtype) != KindObject || m.g.id(dtype) != NumpyDType {
			return false
		}
		_, code, ok := m.codeSize(dtype)
		return ok && strings.IndexByte("biufc", code) >= 0
	}
	return false
}

// checkUUID checks that the number of an identifier has 128 bits.
func (m *matcher) checkUUID(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	n := (Value{m.g, m.valueAt(state, "int")}).Big()
	return n != nil && n.Sign() >= 0 && n.BitLen() <= 128
}

// checkSeeds checks that a pool of seeds has the stated length, and that the numbers from which
// others are derived are not negative.
func (m *matcher) checkSeeds(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	size, ok := m.g.int64(m.arg(state, 3))
	spawned, known := m.g.int64(m.arg(state, 1))
	return ok && known && size >= 4 && spawned >= 0 && m.hasLength(m.arg(state, 2), size) &&
		m.isNatural(m.arg(state, 0)) && m.all(m.arg(state, 4), m.isNatural)
}

// isNatural reports whether no integer in r is negative.
func (m *matcher) isNatural(r ref) bool {
	switch m.g.kind(r) {
	case KindInt:
		n := (Value{m.g, r}).Big()
		return n != nil && n.Sign() >= 0
	case KindList:
		return m.all(r, m.isNatural)
	case KindNone:
		return true
	case KindObject:
		if !m.isArray(r) {
			return m.isNumeric(r) && m.order(r).known && m.order(r).real >= 0
		}
		v, _ := m.view(r)
		if code, ok := m.codeText(v.dtype); !ok || code[0] == 'u' {
			return ok
		}
		return m.integers(r, func(n int64) bool { return n >= 0 })
	}
	return false
}

// A place is the index of a number or a moment among those of its kind.
type place struct {
	known bool
	kind  string
	real  float64
	whole int64
	isInt bool
}

// order returns the place of a number, or of a moment or a duration of pandas.
func (m *matcher) order(r ref) place {
	if m.isNumeric(r) {
		switch form := m.keyForm(r); form.kind {
		case keyInt:
			return place{true, "", float64(int64(form.a)), int64(form.a), true}
		case keyFloat:
			return place{true, "", math.Float64frombits(form.a), 0, false}
		}
		return place{}
	}
	name := m.className(r)
	switch name {
	case "pandas._libs.tslibs.timestamps._unpickle_timestamp", "pandas.Timestamp", "pandas._libs.tslibs.timedeltas._timedelta_unpickle", "pandas.Timedelta":
	default:
		return place{}
	}
	args := m.argsOf(r)
	n, ok := m.g.int64(m.arg(args, 0))
	if unit := m.g.node(args).n - 1; unit == 1 || unit == 3 {
		text, _ := m.g.int64(m.arg(args, unit))
		name += " " + string(rune('a'+text))
	}
	if m.g.node(args).n > 2 && m.arg(args, 2) != refNone {
		name += " with a zone"
	}
	return place{ok && n != math.MinInt64, name, float64(n), n, true}
}

// checkInterval checks that an interval does not end before it begins.
func (m *matcher) checkInterval(_ *class, target, args ref) bool {
	if target != refAbsent {
		return false
	}
	a, b := m.order(m.arg(args, 0)), m.order(m.arg(args, 1))
	if !a.known || !b.known || a.kind != b.kind {
		return false
	}
	if a.isInt && b.isInt {
		return a.whole <= b.whole
	}
	return a.real <= b.real
}

// checkDuration checks that a number is not one of the markers for a missing time.
func (m *matcher) checkDuration(c *class, target, args ref) bool {
	n, ok := m.g.int64(m.arg(args, 0))
	return target == refAbsent && ok && n != math.MinInt64 && m.checkUnit(c, target, args)
}

// isFrequency reports whether an offset of pandas counts something.
func (m *matcher) isFrequency(r ref) bool {
	n, ok := m.g.int64(m.arg(m.argsOf(r), 0))
	return ok && n > 0 && (m.className(r) != "pandas._libs.tslibs.offsets.Week" || m.argOr(m.argsOf(r), 2, refNone) != refNone)
}

// checkOrdinal checks that a period has a frequency.
func (m *matcher) checkOrdinal(_ *class, target, args ref) bool {
	_, ok := m.g.int64(m.arg(args, 2))
	return target == refAbsent && ok && m.isFrequency(m.arg(args, 1))
}

// frequencies are the names of the frequencies that periods have, in pandas 1.2 to 3.1.
// Those of years, quarters and weeks may be followed by where they end.
const (
	frequencies = " B D H h T min S s L ms U us N ns M Q A Y W "
	anchors     = " JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC MON TUE WED THU FRI SAT SUN "
)

// isPeriodName reports whether a text is that of a frequency: "3M", "Q-DEC".
func isPeriodName(text string) bool {
	name := strings.TrimLeft(text, "0123456789")
	count := text[:len(text)-len(name)]
	name, anchor, anchored := strings.Cut(name, "-")
	if len(count) > 9 || count != "" && strings.Trim(count, "0") == "" || !hasWord(frequencies, name) {
		return false
	}
	if !anchored {
		return true
	}
	isDay := strings.Index(anchors, " MON ")
	at := strings.Index(anchors, " "+anchor+" ")
	return hasWord(anchors, anchor) && (name == "W") == (at >= isDay) && strings.Contains(" A Y Q W ", " "+name+" ")
}

// hasWord reports whether a list with a space on either side has a word.
func hasWord(list, word string) bool {
	return word != "" && !strings.Contains(word, " ") && strings.Contains(list, " "+word+" ")
}
