package report

import (
	"cmp"
	"iter"
	"slices"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A Report holds the results about one model, or the error.
type Report struct {
	Path     string
	Name     string // in the folder that was named, "" for a file that was
	named    bool   // the path is printed: there may be more than one model
	Err      error
	Model    tensor.Model // nil if it could not be opened
	verified bool
	Total    Group
	groups   []Group
	memory   *memoryUse         // of the running model, with --context
	planned  *Plan              // totals of quantized weights, if there are any
	usage    []limits.AxisUsage // with --usage
	Verdict  *gate.Verdict      // with Options.Judge
}

// Options choose what a report contains.
type Options struct {
	Verify, Usage bool
	Finite        bool           // numbers are read, and NaN or an infinity refuses the model
	Tokens, Batch int64          // estimate memory for this many; Tokens 0 does not
	Quant         *quant.Options // bind quantized weights, if not nil
	Choice        bool           // of a folder of several models, print which one other commands read

	Judge   func(*limits.Budget, *Report) error
	Exclude func(name string) bool // of a folder
}

// A Group sums up the tensors of one type.
type Group struct {
	Type     string
	Tensors  int64
	Elements int64
	Bytes    int64
}

func (g *Group) add(i *tensor.Info) {
	g.Tensors++
	g.Elements = wire.AddCap(g.Elements, i.Elements())
	g.Bytes = wire.AddCap(g.Bytes, i.Bytes())
}

// Sum sums up tensors by type, the largest group first.
func (r *Report) Sum(list iter.Seq[tensor.Info]) {
	r.Total, r.groups = Group{}, nil
	at := map[string]int{}
	for i := range list {
		name := i.TypeName()
		k, ok := at[name]
		if !ok {
			k = len(r.groups)
			at[name] = k
			r.groups = append(r.groups, Group{Type: name})
		}
		r.groups[k].add(&i)
		r.Total.add(&i)
	}
	slices.SortStableFunc(r.groups, func(a, b Group) int {
		return cmp.Or(-cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Type, b.Type))
	})
}

// TensorsOf returns the tensors of an accepted model, none after an error.
func TensorsOf(r *Report) iter.Seq[tensor.Info] {
	if r.Err != nil || r.Model == nil {
		return func(func(tensor.Info) bool) {}
	}
	return r.Model.Tensors()
}

// Class returns the class of the report, which decides the exit code.
func (r *Report) Class() wire.Class {
	if r.isExcepted() {
		return wire.OK
	}
	return fault.ClassOf(r.Err)
}

// isExcepted reports whether exceptions of the policy suppress the error.
func (r *Report) isExcepted() bool { return r.Verdict != nil && r.Verdict.Err == nil }

// Format returns the name of the container, "" if it is unknown.
func (r *Report) Format() string {
	if r.Model != nil {
		return r.Model.Format()
	}
	e, _ := fault.Located(r.Err)
	for _, f := range slices.Concat(parser.Formats(), parser.Graphs()) {
		if f.Name == e.Format {
			return f.Name
		}
	}
	return ""
}

// Bodies returns whether tensor data was verified.
func (r *Report) Bodies() string {
	if r.verified {
		return "verified"
	}
	return "not read"
}

// DataWords says for people how far the numbers of a model were read.
func DataWords(bodies string) string {
	if bodies == "verified" {
		return "read and checked"
	}
	return bodies
}
