package limits

import (
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
	DefaultTimeout         = 60 * time.Second

	// NoTimeout switches the deadline off: conversions take as long as they take.
	NoTimeout time.Duration = -1

	// RatioGrace is how much a file may inflate, or decode to, before a ratio
	// is asked. An honest array of zeros deflates 1,027 times; a small one
	// costs nobody anything.
	RatioGrace = 64 << 20

	// MaxDepthCeiling bounds MaxDepth itself: recursion costs stack, and no
	// format nests deeper in honest files.
	MaxDepthCeiling = 10_000
)

// A Policy is a set of ceilings and refusals. Its zero value is the default of
// a server; a field left zero keeps its default. Negative fields are not valid
// ([Policy.Validate]), except Timeout, where [NoTimeout] means none.
type Policy struct {
	// MaxSingleAlloc bounds one buffer whose size a file declares, in bytes.
	// Charged by every parser. Default 256 MiB.
	MaxSingleAlloc int64
	// MaxTotalBytes bounds the bytes held on the word of the file: headers,
	// strings, arrays, pickle values, the structs of counted items, and live
	// leases. Charged by every parser, by quant and by convert. Default 1 GiB.
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
	// Timeout bounds one operation's wall clock. Default 60 s; [NoTimeout] for none.
	Timeout time.Duration

	// Quirks names leniencies that are granted, such as "gguf.gaps". None by default.
	Quirks []string
	// RefuseFormats names formats that are refused, such as "pth".
	RefuseFormats []string
	// RefuseFindings names finding codes that are refused; "*" refuses all.
	RefuseFindings []string
	// RefuseUnknownMembers refuses archive members that the format does not know.
	RefuseUnknownMembers bool
}

// Limit returns the ceiling in force on one axis, defaults filled in. On the
// Time axis it is nanoseconds, or -1 for none.
func (p *Policy) Limit(a Axis) int64 {
	switch a {
	case SingleAlloc:
		return or(p.MaxSingleAlloc, DefaultMaxSingleAlloc)
	case Total:
		return or(p.MaxTotalBytes, DefaultMaxTotalBytes)
	case Items:
		return or(p.MaxItems, DefaultMaxItems)
	case InflateRatio:
		return or(p.MaxInflateRatio, DefaultMaxInflateRatio)
	case ExpandRatio:
		return or(p.MaxExpandRatio, DefaultMaxExpandRatio)
	case Depth:
		return min(or(p.MaxDepth, DefaultMaxDepth), MaxDepthCeiling)
	case StepCount:
		return or(p.MaxSteps, DefaultMaxSteps)
	case WorkingSet:
		return or(p.MaxWorkingSet, DefaultMaxWorkingSet)
	case Time:
		return int64(or(p.Timeout, DefaultTimeout))
	default:
		return 0
	}
}

func or[T ~int64](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// Quirk reports whether the policy grants the named leniency.
func (p *Policy) Quirk(name string) bool { return has(p.Quirks, name) }

// RefusesFormat reports whether the policy refuses a format.
func (p *Policy) RefusesFormat(name string) bool { return has(p.RefuseFormats, name) }

// RefusesFinding reports whether the policy refuses files with this finding.
func (p *Policy) RefusesFinding(code string) bool {
	return has(p.RefuseFindings, "*") || has(p.RefuseFindings, code)
}

func has(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}
