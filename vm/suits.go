package vm

import (
	"strings"
	"unicode/utf8"
)

// suits reports whether the callee takes the arguments, which have the right types.
// Arguments for which it would raise an error are not data.
func (m *matcher) suits(id ID, callee, args ref) bool {
	switch id {
	case NumpyDType:
		return m.isNewDType(args)
	case NumpyFromBuffer:
		return m.isFromBuffer(args)
	case NumpyReconstruct:
		// NumPy writes "b" for every array; the type is in the state. It accepts other
		// types by the grammar of its dtypes.
		return m.g.text(m.arg(args, 2)) == "b"
	case TorchDevice:
		return m.isDevice(args)
	case TorchLayout:
		return hasName(layouts, m.g.text(m.arg(args, 0)))
	case RebuildMetaTensor:
		// There are no quantized tensors without a storage.
		return m.isGeometry(m.arg(args, 1), m.arg(args, 2)) && !isQuantized(m.g.global(m.arg(args, 0)).Name) &&
			(m.arg(args, 3) != refTrue || isDifferentiable(m.g.global(m.arg(args, 0)).Name))
	case RebuildDeviceFromNumpy:
		return m.isDeviceName(m.arg(args, 2)) && m.isForTorch(m.arg(args, 0), m.arg(args, 1)) &&
			(m.arg(args, 3) != refTrue || isDifferentiable(m.g.global(m.arg(args, 1)).Name))
	case RebuildDeviceFromCPU:
		return m.isDeviceName(m.arg(args, 2)) && m.hollow(m.arg(args, 0)) == ""
	case RebuildParameter, RebuildParameterWithState, TorchParameter:
		return m.isParameter(args)
	case Deque:
		length, isInt := m.g.int64(m.argOr(args, 1, refNone))
		return !isInt || length >= 0
	case Range:
		step, _ := m.g.int64(m.arg(args, 2))
		return step != 0
	case DateTime:
		return m.isDateTime(m.g.global(callee).Name, args)
	}
	return true
}

func (m *matcher) arg(args ref, i uint32) ref { return m.g.elem(m.g.node(args).a + i) }

// argOr returns an argument, or other if there are too few.
func (m *matcher) argOr(args ref, i uint32, other ref) ref {
	if i >= m.g.node(args).n {
		return other
	}
	return m.arg(args, i)
}

// isDeviceName reports whether r is a device, or the name of one.
func (m *matcher) isDeviceName(r ref) bool {
	if m.g.kind(r) != KindText {
		return true
	}
	_, _, ok := Device(m.g.text(r))
	return ok
}

func isQuantized(dtype string) bool {
	return strings.HasPrefix(dtype, "q")
}

// isDifferentiable reports whether tensors of the type can require a gradient.
func isDifferentiable(dtype string) bool {
	return strings.Contains(dtype, "float") || strings.Contains(dtype, "complex")
}

// hollow returns the type of a tensor without data, or "". Tensors with data are checked
// where their storages are.
func (m *matcher) hollow(tensor ref) string {
	for m.g.kind(tensor) == KindObject {
		args := m.g.elem(m.g.node(tensor).a + objArgs)
		if m.g.kind(args) != KindTuple || m.g.node(args).n == 0 {
			return ""
		}
		switch m.g.id(tensor) {
		case RebuildMetaTensor:
			if own := m.g.global(m.arg(args, 0)); own != nil {
				return own.Name
			}
			return ""
		case RebuildParameter, RebuildParameterWithState, TorchParameter:
			tensor = m.arg(args, 0)
		default:
			return ""
		}
		m.cost++
	}
	return ""
}

// isParameter reports whether args are (tensor, requires_grad, ...); requires_grad is
// true by default. A tensor without data must have a type that can require a gradient.
func (m *matcher) isParameter(args ref) bool {
	if m.g.node(args).n == 0 || m.argOr(args, 1, refTrue) != refTrue {
		return true
	}
	dtype := m.hollow(m.arg(args, 0))
	return dtype == "" || isDifferentiable(dtype)
}

// layouts are those that PyTorch's _get_layout knows.
const layouts = "torch.strided torch.sparse_coo torch.sparse_csr torch.sparse_csc torch.sparse_bsr torch.sparse_bsc torch._mkldnn torch.jagged"

// isGeometry reports whether sizes and strides have the same number, and none is negative.
func (m *matcher) isGeometry(sizes, strides ref) bool {
	a, b := m.inner(sizes), m.inner(strides)
	x, y := m.g.node(a), m.g.node(b)
	if x.n != y.n {
		return false
	}
	positive := func(r ref) bool {
		n, _ := m.g.int64(r)
		return n >= 0
	}
	return m.all(a, positive) && m.all(b, positive)
}

// inner returns the tuple or list of integers in a torch.Size.
func (m *matcher) inner(r ref) ref {
	if m.g.kind(r) != KindObject {
		return r
	}
	args := m.g.elem(m.g.node(r).a + objArgs)
	if m.g.node(args).n == 0 {
		return args
	}
	return m.arg(args, 0)
}

// isDateTime reports whether args are those with which the classes of datetime are
// pickled: the bytes of a date or time, which Python 2 wrote as text, and optionally a
// timezone.
func (m *matcher) isDateTime(class string, args ref) bool {
	n := m.g.node(args).n
	switch class {
	case "date":
		return n == 1 && m.isMoment(m.arg(args, 0), 4, 2, 12, 0)
	case "time":
		return (n == 1 || n == 2 && m.isZone(m.arg(args, 1))) && m.isMoment(m.arg(args, 0), 6, 0, 23, foldBit)
	case "datetime":
		return (n == 1 || n == 2 && m.isZone(m.arg(args, 1))) && m.isMoment(m.arg(args, 0), 10, 2, 12, foldBit)
	case "timedelta":
		_, _, ok := m.timedelta(args)
		return ok
	default: // timezone
		return (n == 1 || n == 2 && m.g.kind(m.arg(args, 1)) == KindText) && m.isOffset(m.arg(args, 0))
	}
}

// foldBit of a month or an hour says which of two equal times is meant; dates have none.
const foldBit = 0x80

// isMoment reports whether r has size bytes, with a valid byte at at without its fold: a
// month from 1 on, or an hour.
func (m *matcher) isMoment(r ref, size, at int, most, fold rune) bool {
	var c rune
	switch m.g.kind(r) {
	case KindBytes:
		text := m.g.text(r)
		if len(text) != size || !m.isBytes(r) {
			return false
		}
		c = rune(text[at])
	case KindText:
		text := m.g.text(r)
		if len(text) > 2*size || utf8.RuneCountInString(text) != size || !isNarrow(text) {
			return false
		}
		c = []rune(text)[at]
	default:
		return false
	}
	c &^= fold
	return c <= most && (c > 0 || at == 0)
}

func (m *matcher) isZone(r ref) bool {
	if r == refNone {
		return true
	}
	return m.g.kind(r) == KindObject && m.g.id(r) == DateTime && m.g.global(r).Name == "timezone"
}

// Bounds of a timedelta, as Python normalizes it.
const (
	mostDays     = 999_999_999
	daySeconds   = 86_400
	microseconds = 1_000_000
)

// timedelta reads (days, seconds, microseconds).
func (m *matcher) timedelta(args ref) (days, rest int64, ok bool) {
	var parts [3]int64
	if m.g.node(args).n != uint32(len(parts)) {
		return 0, 0, false
	}
	for i := range parts {
		if parts[i], ok = m.g.int64(m.arg(args, uint32(i))); !ok {
			return 0, 0, false
		}
	}
	days = parts[0]
	ok = days >= -mostDays && days <= mostDays && parts[1] >= 0 && parts[1] < daySeconds && parts[2] >= 0 && parts[2] < microseconds
	return days, parts[1]*microseconds + parts[2], ok
}

// isOffset reports whether r is a timedelta of less than a day in either direction.
func (m *matcher) isOffset(r ref) bool {
	if m.g.kind(r) != KindObject || m.g.id(r) != DateTime || m.g.global(r).Name != "timedelta" {
		return false
	}
	days, rest, ok := m.timedelta(m.g.elem(m.g.node(r).a + objArgs))
	return ok && (days == 0 || days == -1 && rest > 0)
}
