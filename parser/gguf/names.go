package gguf

import (
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A tally counts the tensors with a property and remembers the first, so that a thousand
// of them are one finding.
type tally struct {
	code     string
	severity tensor.Severity
	text     string
	count    int
	first    int
}

func (t *tally) add(i int) {
	if t.count == 0 {
		t.first = i
	}
	t.count++
}

// tallies has a tally for each property of tensors that is a finding.
type tallies struct {
	long, removed, unknown, negative, internal, weight, empty, scalar, wide, stray tally
}

func newTallies() *tallies {
	return &tallies{
		long:     tally{code: CodeName, severity: tensor.Warning, text: "the name is over 63 bytes: " + llamaCPP + " refuses it, readers in C cut it"},
		removed:  tally{code: CodeRemoved, severity: tensor.Warning, text: "its type was removed from ggml: " + llamaCPP + " and " + ggufPy + " refuse the file"},
		unknown:  tally{code: CodeUnknown, severity: tensor.Warning, text: "its type is unknown: " + llamaCPP + " and " + ggufPy + " refuse the file"},
		negative: tally{code: CodeNegative, severity: tensor.Danger, text: "its type is 2^31 or above, a negative number where ggml keeps it: a reader that compares it with the number of its types reads before its table"},
		internal: tally{code: CodeInternal, severity: tensor.Warning, text: "a type that ggml uses between operations: " + llamaCPP + " cannot decode it"},
		weight:   tally{code: CodeWeight, severity: tensor.Danger, text: "a matrix of this type: " + llamaCPP + " crashes at the first token"},
		empty:    tally{code: CodeEmpty, severity: tensor.Note, text: "has no element: builds of llama.cpp before GHSA-3p75-pq92-q28f divide by zero"},
		scalar:   tally{code: CodeScalar, severity: tensor.Note, text: "has no dimension: ollama and gguf-parser-go refuse it"},
		wide:     tally{code: CodeWide, severity: tensor.Danger, text: "a dimension above 2^31-1: a reader that cuts it to 32 bits writes behind a buffer"},
		stray:    tally{code: CodeTensor, severity: tensor.Warning, text: "the architecture has no such tensor: " + llamaCPP + " refuses the file"},
	}
}

// checkTensors examines every tensor.
func (d *decoder) checkTensors() error {
	n := newTallies()
	arch, err := d.archNames()
	if err != nil {
		return err
	}
	for i := range d.out.Infos {
		if err := d.steps.Step(); err != nil {
			return err
		}
		info := &d.out.Infos[i]
		n.add(i, info, d.out.rows[i].typ)
		if arch != nil && !arch.has(info.Name) {
			n.stray.add(i)
		}
	}
	for _, t := range [...]*tally{&n.long, &n.removed, &n.unknown, &n.negative, &n.internal, &n.weight, &n.empty, &n.scalar, &n.wide, &n.stray} {
		if err := d.report(t); err != nil {
			return err
		}
	}
	return d.checkPart()
}

func (n *tallies) add(i int, info *tensor.Info, t Type) {
	if len(info.Name) > 63 {
		n.long.add(i)
	}
	switch {
	case t.Removed():
		n.removed.add(i)
	case t > math.MaxInt32:
		n.negative.add(i)
	case t >= typeCount:
		n.unknown.add(i)
	case info.DType == tensor.Q8_1 || info.DType == tensor.Q8_K:
		n.internal.add(i)
	case len(info.Shape) > 1 && badWeight(info):
		n.weight.add(i)
	}
	if len(info.Shape) == 0 {
		n.scalar.add(i)
	} else if slices.Contains(info.Shape, 0) {
		n.empty.add(i)
	}
	if slices.ContainsFunc(info.Shape, func(n int64) bool { return n > math.MaxInt32 }) {
		n.wide.add(i)
	}
}

func (d *decoder) report(t *tally) error {
	if t.count == 0 {
		return nil
	}
	info := &d.out.Infos[t.first]
	text, what := t.text, info.TypeName()
	if t.count > 1 {
		return d.addFinding(t.code, t.severity, place("tensor", t.first, info.Name), d.out.rows[t.first].off, "%s (%s; the first of %d)", text, wire.Clean(what, wire.MaxQuoted), t.count)
	}
	return d.addFinding(t.code, t.severity, place("tensor", t.first, info.Name), d.out.rows[t.first].off, "%s (%s)", text, wire.Clean(what, wire.MaxQuoted))
}

// badWeight reports whether a weight has a type that llama.cpp cannot multiply by.
func badWeight(i *tensor.Info) bool {
	switch i.DType {
	case tensor.I8, tensor.I16, tensor.I32, tensor.I64, tensor.F64:
		return strings.HasSuffix(i.Name, ".weight")
	default:
		return false
	}
}

// checkPart adds a finding if the file is one of several, unless it is opened as such.
func (d *decoder) checkPart() error {
	if !d.part || d.mode.part {
		return nil
	}
	return d.addFinding(CodeSplit, tensor.Note, "key "+wire.Quote(splitCountKey), d.keyOffset(splitCountKey),
		"one file of a split model: %s loads it only with the others", llamaCPP)
}

// An archSet is the set of tensors of one architecture. Names repeat from layer to layer,
// usually in the same order: names already seen are kept, and the one that followed last
// time is tried first.
type archSet struct {
	tensors string
	seen    []seenName
	next    int
}

// A seenName is a name of the architecture: "output_norm.weight", or "attn_q.weight" of
// any layer.
type seenName struct {
	tail  string
	layer bool
}

// archNames returns the tensors of the architecture, nil if it is unknown or the file is
// not a model (an adapter, an importance matrix).
func (d *decoder) archNames() (*archSet, error) {
	p := d.out.find(archKey)
	if p == nil || p.kind != KindString || len(d.out.Infos) == 0 {
		return nil, nil
	}
	if t := d.out.find("general.type"); t != nil && t.str != "model" {
		return nil, nil
	}
	tensors := tensorsOf(p.str)
	if tensors == "" {
		return nil, nil
	}
	// Twice the number of kinds, since some have a bias too.
	seen, err := limits.Make[seenName](d.b, 2*strings.Count(tensors, " "))
	if err != nil {
		return nil, err
	}
	return &archSet{tensors: tensors, seen: seen[:0]}, nil
}

// withoutEnding cuts the suffix after the kind of a tensor.
func withoutEnding(name string) string {
	if name == "" {
		return ""
	}
	ending := ".weight"
	switch name[len(name)-1] {
	case 't':
	case 's':
		ending = ".bias"
		if strings.HasSuffix(name, ".scales") {
			ending = ".scales"
		}
	case 'e':
		ending = ".scale"
		if strings.HasSuffix(name, ".input_scale") {
			ending = ".input_scale"
		}
	}
	return strings.TrimSuffix(name, ending)
}

// ofLayer cuts the prefix "blk.N.".
func ofLayer(name string) (tail string, ok bool) {
	const front = len("blk.")
	if len(name) <= front || name[:front] != "blk." {
		return name, false
	}
	i := front
	for i < len(name) && '0' <= name[i] && name[i] <= '9' {
		i++
	}
	if i == front || i == len(name) || name[i] != '.' {
		return name, false
	}
	return name[i+1:], true
}

// has reports whether the architecture knows the tensor.
func (s *archSet) has(name string) bool {
	tail, layer := ofLayer(name)
	want := seenName{tail, layer}
	for i := range s.seen {
		at := s.next + i
		if at >= len(s.seen) {
			at -= len(s.seen)
		}
		if s.seen[at] == want {
			s.next = at + 1
			return true
		}
	}
	return s.lookup(want, name)
}

// lookup finds a name in the table, in which numbers are "#".
func (s *archSet) lookup(want seenName, name string) bool {
	var room [72]byte
	whole, kind := normalizeName(room[:0], withoutEnding(name)), withoutEnding(want.tail)
	if whole == nil || !strings.Contains(s.tensors, " "+string(whole)+" ") {
		return false
	}
	// Names with other numbers in them are not kept, since each number would be a new
	// name.
	if plain := string(whole) == kind || want.layer && string(whole[1:]) == kind; plain && len(s.seen) < cap(s.seen) {
		s.seen = append(s.seen, want)
	}
	return true
}

// normalizeName replaces "blk.N." and other numbers by "#", and returns nil if the result does
// not fit into room, which fits every known name.
func normalizeName(room []byte, name string) []byte {
	for more := true; more; {
		var part string
		part, name, more = strings.Cut(name, ".")
		if isNumber(part) {
			part = "#"
		}
		if len(room)+len(part)+1 > cap(room) {
			return nil
		}
		room = append(room, part...)
		if more {
			room = append(room, '.')
		}
	}
	if strings.HasPrefix(string(room), "blk.#.") {
		room = append(room[:0], room[len("blk.#.")-1:]...)
		room[0] = '#'
	}
	return room
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Knows reports an architecture that llama.cpp has.
func Knows(arch string) bool { return tensorsOf(arch) != "" }

// tensorsOf returns the names that llama.cpp uses for an architecture, "" if it is
// unknown.
func tensorsOf(arch string) string {
	for i := range archs {
		if archs[i].name == arch {
			return archs[i].tensors
		}
	}
	return ""
}
