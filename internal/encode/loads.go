package encode

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A Loading says whether a library loads what is written.
type Loading struct {
	Library, Version string
	Verdict          LoadVerdict
	Why              string // it does not, or why that is unknown
}

// A LoadVerdict is what is known of a library and a format. The zero value is that nothing is.
type LoadVerdict uint8

// The verdicts.
const (
	LoadUnknown LoadVerdict = iota // this version or model type was not tried
	LoadFails                      // it does not load it, or not as it is
	LoadRead                       // its sources say that it does; they were read, not run
	LoadTried                      // it loaded this model type in this format, with the numbers of this program
)

var loadVerdicts = [...]string{"unknown", "no", "read", "loads"}

func (v LoadVerdict) String() string { return loadVerdicts[v] }

// Loadings returns what is known of each library that could load the model in a format.
func (e *Linear) Loadings() ([]Loading, error) {
	if e.component != "" {
		return []Loading{e.byDiffusers()}, nil
	}
	s := &e.As.Served
	list := []Loading{e.byTransformers()}
	e.lacking(&list[0])
	for _, l := range s.Packers {
		list = append(list, e.byPacker(l))
	}
	for _, l := range []loaders.Library{loaders.VLLM, loaders.SGLang} {
		if s.Method != "" {
			list = append(list, e.byServer(l, map[loaders.Library]string{loaders.VLLM: s.VLLM, loaders.SGLang: s.SGLang}[l])) // two
		}
	}
	return list, nil
}

// Unloadable refuses what no library loads that the format is for, with what each of them says.
// One of which nothing is known could.
func (q *Quantized) Unloadable() error {
	why := ""
	for i := 0; i < len(q.Loads); i++ { // one for each library
		l := &q.Loads[i]
		if l.Verdict != LoadFails {
			return nil
		}
		why += "; " + l.Library + " " + l.Version + ": " + l.Why
	}
	if why == "" {
		return nil
	}
	return wire.ErrUnsupported.Errorf("no library would load it as %s%s. Choose another format, or leave alone what they do not take (%s)", q.Layout, why, wire.OptionExclude)
}

// byTransformers returns what is known of transformers.
func (e *Linear) byTransformers() Loading {
	l := Loading{Library: string(loaders.Transformers), Version: loaders.Transformers.Version()}
	version, as := loaders.Transformers.Tried(e.As.Name, e.Type), e.As.Served.TriedAs
	if version == "" && as != "" {
		if version = loaders.Transformers.Tried(as, e.Type); version != "" {
			l.Why = "tried as " + as
		}
	}
	switch {
	case e.BreaksAgain != "":
		l.Verdict, l.Why = LoadFails, e.BreaksAgain
	case e.As.Served.Transformers != "":
		l.Verdict, l.Why = LoadFails, e.As.Served.Transformers
	case e.Type == "":
		l.Why = "no config.json states a model_type"
	case newerVersion(e.writtenBy, l.Version):
		l.Why = "config.json was written by version " + e.writtenBy + ", and what is known is of " + l.Version
	case version == "":
		l.Why = "a model of this model_type was not tried in this format"
	default:
		l.Verdict, l.Version = LoadTried, version
	}
	return l
}

// lacking withdraws that transformers loads a model that may lack a tensor, which it would
// initialize at random.
func (e *Linear) lacking(l *Loading) {
	switch {
	case l.Verdict != LoadTried || e.Lack.Whole:
		return
	case e.Lack.Missing != "":
		l.Verdict, l.Why = LoadFails, "there is no tensor "+wire.Quote(e.Lack.Missing)+", which config.json asks for, and it would initialize it at random"
	default:
		l.Verdict, l.Why = LoadUnknown, e.Lack.Unclear
	}
	l.Version = loaders.Transformers.Version()
}

// byPacker returns what the sources of a library say that makes modules quantized by the type of a model.
func (e *Linear) byPacker(by loaders.Library) Loading {
	l := Loading{Library: string(by), Version: by.Version()}
	taking, known := by.Takes(e.Type)
	switch {
	case by == loaders.GPTQModel && !by.Reads(e.As.Served.Packed, ""):
		l.Verdict, l.Why = LoadFails, "it has no method for this format"
	case e.Type == "":
		l.Why = "no config.json states a model_type"
	case !known && by == loaders.AutoAWQ: // it raises an error; GPTQModel looks for layers itself
		l.Verdict, l.Why = LoadFails, "it has no model_type "+wire.Quote(e.Type)
	case !known:
		l.Why = "it has no model_type " + wire.Quote(e.Type)
	default:
		l.Verdict, l.Why = e.taken(taking)
	}
	return l
}

// taken returns whether a library makes a quantized module of each weight that is quantized.
func (e *Linear) taken(t loaders.Taking) (LoadVerdict, string) {
	verdict, why := LoadRead, ""
	for i := range e.Weights {
		module := strings.TrimSuffix(e.Weights[i].Name, ".weight")
		if len(e.classes) > 0 {
			module, _ = loaders.InModel(e.Type, e.classes[0], module)
		}
		switch t.Of(module) {
		case loaders.Left:
			return LoadFails, "it makes no quantized module of " + wire.Quote(module)
		case loaders.Elsewhere:
			verdict, why = LoadUnknown, "its layers have other names than "+wire.Quote(module)
		}
	}
	return verdict, why
}

// byDiffusers returns what the sources of diffusers say, of a part of a pipeline.
func (e *Linear) byDiffusers() Loading {
	l := Loading{Library: string(loaders.Diffusers), Version: loaders.Diffusers.Version()}
	taking, known := loaders.Diffusers.Takes(e.component)
	switch {
	case !loaders.Diffusers.Reads(e.As.Served.Diffusers, ""):
		l.Verdict, l.Why = LoadFails, "it has no method for this format"
	case !known:
		l.Why = "it has no class " + wire.Quote(e.component)
	case newerVersion(e.writtenBy, l.Version):
		l.Why = "config.json was written by version " + e.writtenBy + ", and what is known is of " + l.Version
	default:
		l.Verdict, l.Why = e.taken(taking)
	}
	return l
}

// byServer returns what the sources of vLLM or SGLang say.
func (e *Linear) byServer(by loaders.Library, scheme string) Loading {
	l := Loading{Library: string(by), Version: by.Version()}
	known, method := false, e.As.Served.Method
	if other := e.As.Served.SGLangMethod; by == loaders.SGLang && other != "" {
		method = other
	}
	for _, a := range e.classes[:min(len(e.classes), transformers.MostInside)] {
		_, ok := by.Fused(a)
		known = known || ok
	}
	switch {
	case !by.Reads(method, scheme):
		l.Verdict, l.Why = LoadFails, "it has no method for this format"
	case len(e.classes) == 0:
		l.Why = "no config.json names a class"
	case !known:
		l.Why = "it has no class " + wire.Quote(e.classes[0])
	default:
		l.Verdict = LoadRead
	}
	return l
}

// newerVersion reports whether a version of a library is newer than another, by its first
// two numbers. A version that is not understood is newer than all.
func newerVersion(a, b string) bool {
	if a == "" {
		return false
	}
	x, y := versionNumbers(a), versionNumbers(b)
	return x < 0 || x > y
}

// versionNumbers returns the first two numbers of a version as one number, -1 for none.
func versionNumbers(v string) int64 {
	major, rest, _ := strings.Cut(v, ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, err := strconv.ParseUint(major, 10, 20)
	n, other := strconv.ParseUint(minor, 10, 20)
	if err != nil || other != nil {
		return -1
	}
	return int64(m<<20 | n)
}
