package vm

import (
	"io"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Load reads the pickle that begins at off and is expected to fill the file
// until end, which is read at once. Where it really ends, [Graph.End] says;
// bytes after it are the caller's to judge.
func Load(b *limits.Budget, r io.ReaderAt, off, end int64) (*Graph, error) {
	return load(newMachine(b, r, off, end), true)
}

// LoadNext is Load for a pickle that other things follow: the file is read
// only as far as the pickle goes, in growing steps.
func LoadNext(b *limits.Budget, r io.ReaderAt, off, end int64) (*Graph, error) {
	return load(newMachine(b, r, off, end), false)
}

// LoadOpaque is [Load] for a caller who wants the data of a pickle, whatever else it contains: a
// global outside the allowlist is not refused but named, and what is called by it becomes an object
// of which its name, its arguments and its state are known and nothing else ([Graph.Globals] lists
// them). Such an object may contain itself. Everything else is refused as in Load, calls of allowed
// globals with other arguments than they take among it.
func LoadOpaque(b *limits.Budget, r io.ReaderAt, off, end int64) (*Graph, error) {
	m := newMachine(b, r, off, end)
	m.opaques = true
	return load(m, true)
}

// LoadNextOpaque is the same for a pickle that other things follow.
func LoadNextOpaque(b *limits.Budget, r io.ReaderAt, off, end int64) (*Graph, error) {
	m := newMachine(b, r, off, end)
	m.opaques = true
	return load(m, false)
}

func load(m *machine, whole bool) (*Graph, error) {
	m.whole = whole
	err := m.run()
	m.release(err == nil)
	if err != nil {
		return nil, err
	}
	m.g.weightsOnly = m.weightsOnly(nil)
	return m.g, nil
}

// A Report is what [Scan] found.
type Report struct {
	// Graph is what was built, opaque values included. Its root is what STOP
	// found, or None if the machine did not come so far.
	Graph *Graph
	// Err is why the pickle is malformed, truncated, unsupported or over a
	// limit, or nil. All other findings are reported nevertheless: the scan
	// goes on where some loader would. A scan that a ceiling ended says so,
	// whatever it found before.
	Err error
	// Safe is our verdict: every global is ours to build and every call typed.
	// A pickle with an Err is not safe.
	Safe Verdict
	// WeightsOnly is the verdict of PyTorch's restricted loader. Err speaks
	// against it only where that loader stops too.
	WeightsOnly Verdict

	forbidden error
	differ    bool // a loader that reads the arrays of joblib differently has an objection
	events    arena[event]
}

// Refusal is the error for which [Load] would refuse the pickle, or a worse error after that one:
// nil for a safe pickle, else the first forbidden thing, else Err.
func (r *Report) Refusal() error {
	if r.forbidden != nil && wire.ClassOf(r.Err) != wire.Internal {
		return r.forbidden
	}
	return r.Err
}

// Scan reads the pickle that begins at off, as [Load] does, and reports all
// that it asks for.
func Scan(b *limits.Budget, r io.ReaderAt, off, end int64) *Report {
	return scan(newMachine(b, r, off, end), true)
}

// ScanNext is Scan for a pickle that other things follow, as [LoadNext].
func ScanNext(b *limits.Budget, r io.ReaderAt, off, end int64) *Report {
	return scan(newMachine(b, r, off, end), false)
}

func scan(m *machine, whole bool) *Report {
	m.whole, m.scan = whole, true
	err := wire.At(Format, "", m.g.base, m.b.Step(scanSteps))
	if err == nil {
		err = m.run()
	}
	m.release(true)
	out := &Report{
		Graph:       m.g,
		Err:         m.problem,
		Safe:        m.verdicts.safe,
		WeightsOnly: m.weightsOnly(err),
		events:      m.events,
	}
	if err != nil {
		m.g.root = refNone
		if class := wire.ClassOf(err); out.Err == nil || class == wire.Limit || class == wire.Internal {
			out.Err = err
		}
	}
	if f := m.verdicts.forbidden; f != nil {
		out.forbidden = &wire.Error{Format: Format, Where: m.verdicts.where, Off: f.Off, Err: f}
	}
	out.Safe.By = Ours
	if out.Err != nil {
		out.Safe.add(broken(out.Err))
	}
	out.Safe.OK = len(out.Safe.Reasons) == 0
	m.g.weightsOnly = out.WeightsOnly
	return out
}

// scanSteps are those of a scan, however short its pickle: it takes a machine of its own.
const scanSteps = 48

// A Use says what an [Event] is.
type Use uint8

// The uses.
const (
	UseGlobal     Use = iota // a global is named
	UseCall                  // REDUCE, NEWOBJ, NEWOBJ_EX, OBJ or INST calls it
	UseBuild                 // BUILD gives it a state
	UseChange                // APPEND(S), SETITEM(S) or ADDITEMS changes it
	UsePersistent            // a persistent id is resolved
)

var useNames = [...]string{"global", "call", "build", "change", "persistent"}

func (u Use) String() string { return useNames[u] }

// An Event is one request of a pickle to its loader.
type Event struct {
	Use Use
	Op  string // "REDUCE"
	Off int64
	OK  bool // it is ours to do, and what it is given is typed
	// Fits means that it is what a class set says of a member, whether or not the set is
	// allowed.
	Fits bool
	On   Value // the global named or called, the value built or changed, the id
	// With is the arguments, the state, the last item of a change or the id.
	// A global has none: Given tells.
	With  Value
	Given bool
}

// event is an Event in few bytes.
type event struct {
	use      Use
	code     uint8
	ok, fits bool
	off      uint32
	on, with ref
}

// event records what the current instruction asks for, in a scan.
func (m *machine) event(use Use, on, with ref, ok bool) error {
	if !m.scan || m.listing {
		return nil
	}
	i, err := m.events.reserve(&m.work, 1)
	if err != nil {
		return err
	}
	fits := ok || use == UseGlobal && m.g.id(on) == SetMember
	*m.events.at(i) = event{use, m.src[m.op], ok, fits, uint32(m.op), on, with}
	return nil
}

// typed records a use of a class that is as its set says.
func (m *machine) typed(use Use, on, with ref, ok bool) error {
	err := m.event(use, on, with, ok)
	if err == nil && m.scan && !m.listing {
		m.events.at(m.events.len - 1).fits = true
	}
	return err
}

// Len is the number of events.
func (r *Report) Len() int { return int(r.events.len) }

// Events yields what the pickle asks for, in the order in which it does.
func (r *Report) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for i := range r.events.len {
			e := r.events.at(i)
			out := Event{
				Use: e.use, Op: opcodes[e.code].name, Off: r.Graph.base + int64(e.off), OK: e.ok, Fits: e.fits,
				On: Value{r.Graph, e.on}, With: Value{r.Graph, e.with}, Given: e.with != refAbsent,
			}
			if !yield(out) {
				return
			}
		}
	}
}
