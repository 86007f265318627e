package vm

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Bounds of the text of a value: its depth, the elements of each level, and the bytes in
// all.
const (
	showDepth = 3
	showElems = 8
	showBytes = 200
)

// who names what a value belongs to: a global, the global that was called, or the class
// of a container.
func (g *Graph) who(r ref) (module, name string, status Status) {
	if own := g.global(r); own != nil {
		return own.Module, own.Name, own.Status
	}
	if id := g.id(r); id != NoID {
		module, name, _ = strings.Cut(classNames[id], " ")
		return module, name, Allowed
	}
	switch kind := g.kind(r); kind {
	case KindPersistent:
		return "torch.storage", "TypedStorage", Allowed
	case KindObject:
		return computedModule, computedName, Unknown
	default:
		return "builtins", kind.String(), Allowed
	}
}

// classNames are the names of container classes by their id.
var classNames = [...]string{
	OrderedDict: "collections OrderedDict",
	Counter:     "collections Counter",
	DefaultDict: "collections defaultdict",
	Deque:       "collections deque",
	FrozenSet:   "builtins frozenset",
	ByteArray:   "builtins bytearray",
}

// show describes a value in a few words: texts quoted, containers by their kind.
func (g *Graph) show(r ref) string {
	switch kind := g.kind(r); kind {
	case KindNone:
		return "None"
	case KindBool:
		if r == refTrue {
			return "True"
		}
		return "False"
	case KindInt:
		if n, ok := g.int64(r); ok {
			return strconv.FormatInt(n, 10)
		}
		return "int of " + strconv.Itoa(int(g.node(r).n)) + " bytes"
	case KindFloat:
		return strconv.FormatFloat(g.float(r), 'g', -1, 64)
	case KindText:
		return wire.Quote(g.text(r))
	case KindBytes:
		return "bytes " + wire.Quote(g.text(r))
	case KindGlobal:
		module, name, _ := g.who(r)
		return wire.Clean(module+"."+name, wire.MaxQuoted)
	case KindObject:
		module, name, _ := g.who(r)
		return "result of " + wire.Clean(module+"."+name, wire.MaxQuoted)
	case KindPersistent:
		return "persistent " + g.shape(ref(g.node(r).a))
	case KindTuple:
		return g.shape(r)
	default:
		return g.named(r) + " of " + strconv.Itoa(int(g.node(r).n))
	}
}

// named returns the kind of a container, or its class.
func (g *Graph) named(r ref) string {
	if g.id(r) == NoID {
		return g.kind(r).String()
	}
	_, name, _ := g.who(r)
	return name
}

// shape describes the kinds of values that a value is made of: "(storage, int, (int,
// int))".
func (g *Graph) shape(r ref) string {
	var out strings.Builder
	g.writeShape(&out, r, showDepth)
	return cut(out.String(), showBytes)
}

// cut shortens a text that is already clean.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most - len("...")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}

func (g *Graph) writeShape(out *strings.Builder, r ref, depth int) {
	if out.Len() > showBytes {
		return
	}
	switch kind := g.kind(r); kind {
	case KindTuple, KindList:
		g.writeElems(out, r, depth)
	case KindText:
		n := g.node(r)
		if n.n > 32 || !isASCII(g.text(r)) {
			out.WriteString("str")
			return
		}
		out.WriteString(strconv.Quote(g.text(r)))
	case KindGlobal:
		module, name, _ := g.who(r)
		out.WriteString(wire.Clean(module+"."+name, wire.MaxQuoted))
	case KindObject:
		_, name, _ := g.who(r)
		out.WriteString(wire.Clean(name, wire.MaxQuoted) + "()")
	case KindPersistent:
		out.WriteString("storage")
	case KindDict, KindSet:
		out.WriteString(g.named(r) + "[" + strconv.Itoa(int(g.node(r).n)) + "]")
	default:
		out.WriteString(kind.String())
	}
}

func (g *Graph) writeElems(out *strings.Builder, r ref, depth int) {
	n := g.node(r)
	open, end := "(", ")"
	if n.kind == KindList {
		open, end = "[", "]"
	}
	out.WriteString(open)
	for i := range n.n {
		if i > 0 {
			out.WriteString(", ")
		}
		if i == showElems || depth == 0 {
			out.WriteString("...")
			break
		}
		g.writeShape(out, g.elem(n.a+i), depth-1)
	}
	out.WriteString(end)
}
