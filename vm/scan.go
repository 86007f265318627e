package vm

import (
	"io"
	"iter"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A Report is what [Scan] found.
type Report struct {
	// Graph is what was built, opaque values included. Its root is what STOP
	// found, or None if Err stopped the machine before.
	Graph *Graph
	// Err is why the pickle is malformed, truncated, unsupported or over a
	// limit, or nil. What was found before it is reported all the same.
	Err error
	// Safe is our verdict: every global is ours to build and every call typed.
	Safe Verdict
	// WeightsOnly is the verdict of PyTorch's restricted loader.
	WeightsOnly Verdict

	events []event
}

// A Verdict says whether a loader takes the pickle, and if not, why.
type Verdict struct {
	OK      bool
	By      string // "anamnesis", "torch 2.15.0 weights_only"
	Reasons []Reason
	More    int // reasons left out
}

// A Reason is one thing that speaks against a pickle.
type Reason struct {
	Code string // "global", "call", "build", "opcode", ...
	Off  int64
	Text string
}

// A Use says what an [Event] is.
type Use uint8

// The uses.
const (
	UseGlobal     Use = iota // a global is named
	UseCall                  // REDUCE, NEWOBJ, NEWOBJ_EX, OBJ or INST calls it
	UseBuild                 // BUILD gives state to an object
	UseChange                // APPEND(S), SETITEM(S) or ADDITEMS on an object
	UsePersistent            // a persistent id is resolved
)

var useNames = [...]string{"global", "call", "build", "change", "persistent"}

func (u Use) String() string { return useNames[u] }

// An Event is one thing that a pickle asks of its loader.
type Event struct {
	Use    Use
	Op     string // "REDUCE"
	Off    int64
	Global *Global // what is named, called or built; nil if it is computed
	OK     bool    // it is ours to do, and its arguments are typed
	Shape  string  // of the arguments, the state or the id: "(storage, int, (int, int))"
}

// Events yields what the pickle asks for, in the order in which it does.
func (r *Report) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {}
}

type event struct{}

// Load reads the pickle that begins at off. It ends where STOP is
// ([Graph.End]), at end at the latest; bytes after it are the caller's to judge.
func Load(r io.ReaderAt, off, end int64, b *limits.Budget) (*Graph, error) {
	return nil, nil
}

// Scan reads the pickle that begins at off and reports all that it asks for.
func Scan(r io.ReaderAt, off, end int64, b *limits.Budget) *Report {
	return nil
}

// A Line is one line of a listing.
type Line struct {
	Off   int64
	Op    string
	Depth int    // values on the stack after the instruction
	Marks int    // open marks after it
	Text  string // operand, or what a memo holds, or what was made
}

// Disassemble lists the pickle that begins at off, instruction by instruction.
// An error is the last thing it yields.
func Disassemble(r io.ReaderAt, off, end int64, b *limits.Budget) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {}
}
