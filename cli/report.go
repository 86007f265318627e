package cli

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

// A report holds the results about one model, or the error.
type report struct {
	path     string
	name     string // in the folder that was named, "" for a file that was
	named    bool   // print the path: there may be more than one
	err      error
	model    tensor.Model // nil if it could not be opened
	verified bool
	total    group
	groups   []group
	memory   *memoryUse         // of the running model, if it was asked for
	planned  *quantPlan         // what quantized weights come to, if there are any
	usage    []limits.AxisUsage // if it was asked for
	verdict  *gate.Verdict      // of a gate that was asked
}

// reportOptions choose what a report contains.
type reportOptions struct {
	verify, usage bool
	finite        bool           // numbers are looked at too
	tokens, batch int64          // of which the memory is asked
	quant         *quant.Options // bind quantized weights, if not nil
	choice        bool           // of a folder of several models, say which one is meant

	judge   func(*limits.Budget, *report) error
	exclude func(name string) bool // of a folder
}

// A group sums up the tensors of one type.
type group struct {
	Type     string
	Tensors  int64
	Elements int64
	Bytes    int64
}

func (g *group) add(i *tensor.Info) {
	g.Tensors++
	g.Elements = wire.AddCap(g.Elements, i.Elements())
	g.Bytes = wire.AddCap(g.Bytes, i.Bytes())
}

// sum sums up tensors by type, the largest group first.
func (r *report) sum(list iter.Seq[tensor.Info]) {
	r.total, r.groups = group{}, nil
	at := map[string]int{}
	for i := range list {
		name := i.TypeName()
		k, ok := at[name]
		if !ok {
			k = len(r.groups)
			at[name] = k
			r.groups = append(r.groups, group{Type: name})
		}
		r.groups[k].add(&i)
		r.total.add(&i)
	}
	slices.SortStableFunc(r.groups, func(a, b group) int {
		return cmp.Or(-cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Type, b.Type))
	})
}

// tensorsOf returns the tensors of an accepted model, none after an error.
func tensorsOf(r *report) iter.Seq[tensor.Info] {
	if r.err != nil || r.model == nil {
		return func(func(tensor.Info) bool) {}
	}
	return r.model.Tensors()
}

// class returns the class of the report, which decides the exit code.
func (r *report) class() wire.Class {
	if r.isExcepted() {
		return wire.OK
	}
	return fault.ClassOf(r.err)
}

// isExcepted reports whether exceptions of the policy suppress the error.
func (r *report) isExcepted() bool { return r.verdict != nil && r.verdict.Err == nil }

// format returns the name of the container, "" if it is unknown.
func (r *report) format() string {
	if r.model != nil {
		return r.model.Format()
	}
	e, _ := fault.Located(r.err)
	for _, f := range slices.Concat(parser.Formats(), parser.Graphs()) {
		if f.Name == e.Format {
			return f.Name
		}
	}
	return ""
}

// bodies returns whether tensor data was verified.
func (r *report) bodies() string {
	if r.verified {
		return "verified"
	}
	return "not read"
}

// dataWords says for people how far the numbers of a model were read.
func dataWords(bodies string) string {
	if bodies == "verified" {
		return "read and checked"
	}
	return bodies
}
