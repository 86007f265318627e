package fuzz

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Ceilings is the policy of a fuzz run: low limits, so that demanding files end soon, and
// no deadline, so that a verdict does not depend on the machine's speed.
var Ceilings = limits.Policy{
	MaxSingleAlloc: 16 << 20,
	MaxTotalBytes:  64 << 20,
	MaxItems:       200_000,
	MaxSteps:       20_000_000,
	MaxWorkingSet:  32 << 20,
	Timeout:        limits.NoTimeout,
}

// Slack is what an operation may allocate beyond twice what it charges: structs of fixed
// number, error texts, buffers of the standard library.
const Slack = 256 << 10

// An Answer is a reader's result for accepted bytes. Exact is all of it; Core is what
// survives rewriting the file, so it has no offsets.
type Answer struct {
	Exact, Core string
}

// Text returns the Answer of a reader whose result has no layout.
func Text(s string) Answer { return Answer{s, s} }

// A Target is a way to read bytes.
type Target struct {
	// Read decodes.
	Read func(b *limits.Budget, r io.ReaderAt, size int64) (Answer, error)
	// Rewrite, if there is an encoder, decodes accepted bytes and encodes
	// what they mean. Class unsupported and limit may be answered.
	Rewrite func(b *limits.Budget, data []byte) ([]byte, error)
	// Policy replaces [Ceilings].
	Policy *limits.Policy
	// Measured, if not nil, is the part of Read whose allocations are compared
	// with what it charges: the decoder without the description of its result.
	Measured func(b *limits.Budget, r io.ReaderAt, size int64) error
}

// Models returns the target of a decoder of a Model. An accepted model must be sound; its
// bodies are verified and read, and the result of that is part of the answer.
func Models[M tensor.Model](decode func(*limits.Budget, io.ReaderAt, int64) (M, error)) Target {
	return Target{
		Read: func(b *limits.Budget, r io.ReaderAt, size int64) (Answer, error) {
			m, err := decode(b, r, size)
			if err != nil {
				return Answer{}, err
			}
			defer m.Close()
			if err := Sound(m, size); err != nil {
				return Answer{}, err
			}
			return Describe(b, m, size)
		},
		Measured: func(b *limits.Budget, r io.ReaderAt, size int64) error {
			m, err := decode(b, r, size)
			if err == nil {
				m.Close()
			}
			return err
		},
	}
}

// A Property is what a target's Check found violated.
type Property string

// The properties.
const (
	Classed    Property = "an error has a data class, a place inside the file, and a short clean text"
	Bounded    Property = "no more is allocated than twice what is charged, and a constant"
	Returned   Property = "closing the account returns all that was charged"
	Repeatable Property = "the answer is a function of the bytes alone"
	Chunked    Property = "the answer does not depend on how the reader cuts its bytes"
	Tighter    Property = "a tighter budget gives the same answer or class limit"
	Rewritten  Property = "what was accepted can be written and read back equal"
	Proven     Property = "an accepted model is what its types promise"
)

// A Broken property, with the observation.
type Broken struct {
	Property
	Seen string
}

func (b *Broken) Error() string { return string(b.Property) + ": " + b.Seen }

func broken(p Property, format string, args ...any) error {
	return &Broken{p, fmt.Sprintf(format, args...)}
}

// Check fails the test if data breaks a property. It reports whether the bytes
// were accepted.
func (g Target) Check(t testing.TB, data []byte) (accepted bool) {
	t.Helper()
	accepted, err := g.Try(data)
	if err != nil {
		t.Fatal(err)
	}
	return accepted
}

// Try is Check with a violated property as an error.
func (g Target) Try(data []byte) (accepted bool, err error) {
	policy := g.policy()
	whole := g.run(bytes.NewReader(data), int64(len(data)), policy)
	if err := whole.faults(int64(len(data))); err != nil {
		return false, err
	}
	if err := g.bounded(data, policy); err != nil {
		return false, err
	}
	if again := g.run(bytes.NewReader(data), int64(len(data)), policy); !again.same(whole) {
		return false, broken(Repeatable, "first %v, then %v", whole, again)
	}
	for _, cut := range Cuts(data) {
		if other := g.run(cut.Reader, int64(len(data)), policy); !other.same(whole) {
			return false, broken(Chunked, "%s gives %v, whole reads %v", cut.Name, other, whole)
		}
	}
	if err := g.tighter(data, policy, whole); err != nil {
		return false, err
	}
	if whole.err != nil {
		return false, nil
	}
	return true, g.rewrite(data, policy, whole)
}

// bounded compares what the decoder allocates with what it charges.
func (g Target) bounded(data []byte, policy limits.Policy) error {
	measured := g.Measured
	if measured == nil {
		measured = func(b *limits.Budget, r io.ReaderAt, size int64) error {
			_, err := g.Read(b, r, size)
			return err
		}
	}
	account := policy.Budget(background)
	defer account.Close()
	allocated, charged := Cost(account, func() { measured(account, bytes.NewReader(data), int64(len(data))) })
	if allocated > 2*charged+Slack && !instrumented {
		return broken(Bounded, "%d bytes allocated, %d charged, for %d bytes of file", allocated, charged, len(data))
	}
	return nil
}

// The axes that tighter lowers, and how a policy is given a ceiling on each.
var lowered = map[limits.Axis]func(p *limits.Policy, n int64){
	limits.SingleAlloc: func(p *limits.Policy, n int64) { p.MaxSingleAlloc = n },
	limits.Total:       func(p *limits.Policy, n int64) { p.MaxTotalBytes = n },
	limits.Items:       func(p *limits.Policy, n int64) { p.MaxItems = n },
	limits.Depth:       func(p *limits.Policy, n int64) { p.MaxDepth = n },
	limits.StepCount:   func(p *limits.Policy, n int64) { p.MaxSteps = n },
	limits.WorkingSet:  func(p *limits.Policy, n int64) { p.MaxWorkingSet = n },
}

// tighter lowers the limit of one axis, chosen by the input, below what was used, and then
// sets it to exactly what was used, which must suffice.
func (g Target) tighter(data []byte, policy limits.Policy, whole *run) error {
	size := int64(len(data))
	axes := limits.Axes()
	h := choice(data)
	axis := axes[h%uint64(len(axes))]
	lower, ok := lowered[axis]
	if ok && whole.usage[axis].Peak > 1 {
		p := policy
		lower(&p, 1+int64(h>>8)%(whole.usage[axis].Peak-1))
		less := g.run(bytes.NewReader(data), size, p)
		if less.class != wire.Limit && !less.same(whole) {
			return broken(Tighter, "%v %d: %v, without %v", axis, p.Limit(axis), less, whole)
		}
		if err := less.faults(size); err != nil {
			return err
		}
	}
	exact := policy
	for axis, lower := range lowered {
		if peak := whole.usage[axis].Peak; peak > 0 && axis != limits.StepCount {
			lower(&exact, peak)
		}
	}
	if whole.class == wire.Limit {
		return nil // the charge that failed is not in the peak
	}
	if same := g.run(bytes.NewReader(data), size, exact); !same.same(whole) {
		return broken(Tighter, "with just what it used: %v, before %v", same, whole)
	}
	return nil
}

// Rewritten tests that the meaning of accepted bytes can be written and read back, if the
// target can write.
func (g Target) Rewritten(data []byte) error {
	policy := g.policy()
	return g.rewrite(data, policy, g.run(bytes.NewReader(data), int64(len(data)), policy))
}

func (g Target) policy() limits.Policy {
	if g.Policy != nil {
		return *g.Policy
	}
	return Ceilings
}

func (g Target) rewrite(data []byte, policy limits.Policy, whole *run) error {
	if g.Rewrite == nil {
		return nil
	}
	account := policy.Budget(background)
	defer account.Close()
	out, err := g.Rewrite(account, data)
	if class := wire.ClassOf(err); class == wire.Unsupported || class == wire.Limit {
		return nil
	}
	if err != nil {
		return broken(Rewritten, "writing: %v", err)
	}
	back := g.run(bytes.NewReader(out), int64(len(out)), policy)
	if back.class == wire.Limit {
		return nil
	}
	if back.err != nil || back.answer.Core != whole.answer.Core {
		return broken(Rewritten, "read %v, written and read %v", whole, back)
	}
	return nil
}

// choice returns a number that depends only on the bytes, so that a crash is reproducible.
func choice(data []byte) uint64 {
	h := fnv.New64a()
	h.Write(data)
	return h.Sum64()
}
