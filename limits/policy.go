package limits

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Defaults of the zero [Policy].
const (
	DefaultMaxSingleAlloc  = 256 << 20
	DefaultMaxTotalBytes   = 1 << 30
	DefaultMaxItems        = 4_000_000
	DefaultMaxInflateRatio = 200
	DefaultMaxExpandRatio  = 64
	DefaultMaxDepth        = 128
	DefaultMaxSteps        = 200_000_000
	DefaultMaxWorkingSet   = 512 << 20
	DefaultMaxOpenFiles    = 1024
	DefaultMaxRequests     = 20_000
	DefaultMaxFetched      = 4 << 40
	DefaultTimeout         = 60 * time.Second

	// NoTimeout switches the deadline off: conversions take as long as they take.
	NoTimeout time.Duration = -1

	// RatioGrace is how far a file may inflate, or decode, before its ratio is checked. An
	// honest array of zeros has the ratio 1,027, and a small one is harmless.
	RatioGrace = 64 << 20

	// TextGrace is how many bytes of texts a packed file may hold before they are compared
	// with its size. Of 25,953 packed files of Debian, of wheels and of Go modules the one
	// with the highest ratio holds 28 times its size in texts.
	TextGrace = 1 << 20

	// MaxDepthCeiling bounds MaxDepth itself: recursion costs stack, and no
	// format nests deeper in honest files.
	MaxDepthCeiling = 10_000
)

// A Policy is a set of limits and refusals. Its zero value is the default of a server; a
// zero field means its default. A policy with a negative field (except Timeout, where
// [NoTimeout] means none) or an unknown name is not valid ([Policy.Validate]): its account
// refuses everything with [ErrPolicy].
type Policy struct {
	// MaxSingleAlloc bounds one buffer whose size a file declares, in bytes.
	// Charged by every parser. Default 256 MiB.
	MaxSingleAlloc int64
	// MaxTotalBytes bounds the memory that a file asks for: headers, strings, arrays,
	// pickle values, the structs of counted items, and live leases. Charged by every
	// parser, by quant and by convert. Default 1 GiB.
	MaxTotalBytes int64
	// MaxItems bounds tensors, keys, archive members, JSON members, pickle
	// values and array elements of string type. Default 4,000,000.
	MaxItems int64
	// MaxInflateRatio bounds inflated to compressed bytes, of each archive
	// member and of all together, once a file inflates past [RatioGrace].
	// Charged by zip. Default 200.
	MaxInflateRatio int64
	// MaxExpandRatio bounds decoded tensor bytes to the larger of file size and
	// inflated bytes, every alias counted, once past [RatioGrace]. Default 64.
	MaxExpandRatio int64
	// MaxDepth bounds nesting in JSON, GGUF arrays and pickles. Default 128,
	// at most [MaxDepthCeiling].
	MaxDepth int64
	// MaxSteps bounds the steps of parsers and the pickle machine.
	// Default 200,000,000.
	MaxSteps int64
	// MaxWorkingSet bounds the live bytes of the pickle machine. Default 512 MiB.
	MaxWorkingSet int64
	// MaxOpenFiles bounds the files of a model that are open at once, such as shards. The
	// limit of the process, less a reserve, bounds it too if the system reports it. Default
	// 1,024.
	MaxOpenFiles int64
	// MaxRequests bounds the requests to servers, and MaxFetched the bytes of their
	// answers, when a model is read over a network. Default 20,000 and 4 TiB: a model of
	// that size, read once.
	MaxRequests, MaxFetched int64
	// Timeout bounds one operation's wall clock. Default 60 s; [NoTimeout] for none.
	Timeout time.Duration

	// Quirks names exceptions to strictness that are granted, such as "gguf.gaps"; [Quirks]
	// lists all. None by default.
	Quirks []string
	// RefuseFormats names formats that are refused, such as "pth"; [Formats]
	// lists all.
	RefuseFormats []string
	// RefuseFindings names finding codes that are refused, of those that
	// [Findings] lists; "*" refuses all.
	RefuseFindings []string
	// RefuseUnknownMembers refuses archive members that the format does not know.
	RefuseUnknownMembers bool
}

// Limit returns the effective ceiling of one axis, with defaults filled in. On the Time
// axis it is nanoseconds, or -1 for none. A negative field, which [Policy.Validate]
// refuses, counts as 0.
func (p *Policy) Limit(a Axis) int64 {
	if a == Time {
		return or(int64(p.Timeout), int64(DefaultTimeout))
	}
	field, def := p.field(a)
	if field == nil {
		return 0
	}
	n := max(or(*field, def), 0)
	if a == Depth {
		return min(n, MaxDepthCeiling)
	}
	return n
}

// field returns the policy's field for an axis, and the default.
func (p *Policy) field(a Axis) (field *int64, def int64) {
	switch a {
	case SingleAlloc:
		return &p.MaxSingleAlloc, DefaultMaxSingleAlloc
	case Total:
		return &p.MaxTotalBytes, DefaultMaxTotalBytes
	case Items:
		return &p.MaxItems, DefaultMaxItems
	case InflateRatio:
		return &p.MaxInflateRatio, DefaultMaxInflateRatio
	case ExpandRatio:
		return &p.MaxExpandRatio, DefaultMaxExpandRatio
	case Depth:
		return &p.MaxDepth, DefaultMaxDepth
	case StepCount:
		return &p.MaxSteps, DefaultMaxSteps
	case WorkingSet:
		return &p.MaxWorkingSet, DefaultMaxWorkingSet
	case OpenFiles:
		return &p.MaxOpenFiles, DefaultMaxOpenFiles
	case Requests:
		return &p.MaxRequests, DefaultMaxRequests
	case Fetched:
		return &p.MaxFetched, DefaultMaxFetched
	case Time:
		return (*int64)(&p.Timeout), int64(DefaultTimeout)
	default:
		return nil, 0
	}
}

func or(v, def int64) int64 {
	if v == 0 {
		return def
	}
	return v
}

// Set sets an axis from text, as written in a flag or in a policy's JSON: "64MiB" or a
// number of bytes, a plain number, "60s" or "none". Zero is refused: in a Policy it means
// the default.
func (p *Policy) Set(a Axis, text string) error {
	field, _ := p.field(a)
	if field == nil {
		return fmt.Errorf("no such axis")
	}
	n, err := parseValue(axes[a].unit, text)
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("0 is not a ceiling: leave it out for the default, or write 1")
	}
	if a == Depth && n > MaxDepthCeiling {
		return fmt.Errorf("%d is more than %d, the deepest that any policy allows", n, MaxDepthCeiling)
	}
	*field = n
	return nil
}

// Validate reports the first invalid field, as an [ErrPolicy].
func (p *Policy) Validate() error {
	for a := range axisCount {
		field, _ := p.field(a)
		if *field < 0 && (a != Time || p.Timeout != NoTimeout) {
			return fmt.Errorf("%w: field %q: %d is negative", ErrPolicy, axes[a].field, *field)
		}
	}
	if p.MaxDepth > MaxDepthCeiling {
		return fmt.Errorf("%w: field %q: %d is more than %d", ErrPolicy, axes[Depth].field, p.MaxDepth, MaxDepthCeiling)
	}
	return p.checkNames()
}

// Filled returns the policy with its defaults written out.
func (p Policy) Filled() Policy {
	for a := range axisCount {
		if field, def := p.field(a); *field == 0 {
			*field = def
		}
	}
	p.Quirks = slices.Clone(p.Quirks)
	p.RefuseFormats = slices.Clone(p.RefuseFormats)
	p.RefuseFindings = slices.Clone(p.RefuseFindings)
	return p
}

// Quirk reports whether the policy grants the named exception.
func (p *Policy) Quirk(name string) bool { return slices.Contains(p.Quirks, name) }

// RefusesFormat reports whether the policy refuses a format.
func (p *Policy) RefusesFormat(name string) bool { return slices.Contains(p.RefuseFormats, name) }

// RefusesFinding reports whether the policy refuses files with this finding.
func (p *Policy) RefusesFinding(code string) bool {
	return slices.Contains(p.RefuseFindings, "*") || slices.Contains(p.RefuseFindings, code)
}
