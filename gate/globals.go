package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A globalSet is a named list of globals that a policy may allow together. They are
// allowed in two forms only: as classes created without arguments that are then given
// their attributes, and as enumerations called with one value.
type globalSet struct {
	name, title string
	modules     map[string]string // names by module, separated by spaces
}

// globalSets has what transformers 4.x and 5.23 and accelerate 1.15 write to
// training_args.bin in Trainer.save_model, for every option of TrainingArguments that is
// data. crosscheck/gate/trainer.py writes such files and reads them back.
var globalSets = [...]globalSet{
	{
		"hf-trainer", "what training_args.bin of the Trainer of transformers asks for",
		map[string]string{
			"accelerate.state":                            "PartialState",
			"accelerate.utils.dataclasses":                "DistributedType",
			"transformers.debug_utils":                    "DebugOption",
			"transformers.generation.configuration_utils": "GenerationConfig",
			"transformers.trainer_pt_utils":               "AcceleratorConfig",
			"transformers.trainer_utils":                  "EvaluationStrategy FSDPOption HubStrategy IntervalStrategy SaveStrategy SchedulerType",
			"transformers.training_args":                  "OptimizerNames ParallelMode TrainingArguments",
			"transformers.training_args_seq2seq":          "Seq2SeqTrainingArguments",
		},
	},
}

// GlobalSets returns the named sets of globals that a policy may allow.
func GlobalSets() map[string][]string {
	out := map[string][]string{}
	for i := range globalSets {
		s := &globalSets[i]
		for module, names := range s.modules {
			for name := range strings.SplitSeq(names, " ") {
				out[s.name] = append(out[s.name], module+"."+name)
			}
		}
		slices.Sort(out[s.name])
	}
	return out
}

func globalSetByName(name string) *globalSet {
	for i := range globalSets {
		if globalSets[i].name == name {
			return &globalSets[i]
		}
	}
	return nil
}

func (s *globalSet) has(g *vm.Global) bool {
	names, ok := s.modules[g.Module]
	return ok && slices.Contains(strings.Split(names, " "), g.Name)
}

// checkGlobals rejects names of globals that cannot exist, and globals known to do more
// than hold data, which no policy allows.
func checkGlobals(list []string) error {
	for _, name := range list {
		if globalSetByName(name) != nil {
			continue
		}
		dot := strings.LastIndexByte(name, '.')
		if dot <= 0 || dot == len(name)-1 || strings.ContainsAny(name, " *?[\n") {
			return fmt.Errorf("%q is neither \"module.name\" nor a set (%s)", name, strings.Join(setNames(), ", "))
		}
		if status, why := vm.StatusOf(name[:dot], name[dot+1:]); status == vm.Dangerous {
			return fmt.Errorf("%q is dangerous (%s): no policy allows it", name, why)
		}
	}
	return nil
}

func setNames() (names []string) {
	for i := range globalSets {
		names = append(names, globalSets[i].name)
	}
	return names
}

// An allowance says how a pickle may use a global that is not on the list of data.
type allowance uint8

const (
	notAllowed     allowance = iota
	allowedInClass           // as its class set says
	allowedInSet             // in the two forms of a [globalSet]
	allowedByName            // called with anything, and given a state
)

// allows returns how the policy allows a global to be used.
func (p *Policy) allows(g *vm.Global) allowance {
	if g == nil || g.Status != vm.Unknown {
		return notAllowed
	}
	out := notAllowed
	if p.allowsSet(g.Set()) {
		out = allowedInClass
	}
	for _, name := range p.AllowGlobals {
		if s := globalSetByName(name); s != nil && s.has(g) {
			out = max(out, allowedInSet)
		} else if name == g.Module+"."+g.Name {
			return allowedByName
		}
	}
	return out
}

// refusal returns why a pickle is refused: for all that the policy does not allow, or for
// what is wrong with it.
func (p *Policy) refusal(r *vm.Report) error {
	var err error
	if len(p.AllowGlobals)+len(p.Classes) == 0 {
		err = r.Refusal()
	} else {
		err = r.RefusalBut(p.excusesEvent)
	}
	if f, ok := errors.AsType[*vm.Forbidden](err); ok {
		if hint := p.wouldFit(r); hint != "" {
			f.Reason += "; " + hint
		}
	}
	return err
}

// excused returns the offsets at which a pickle asks for what the policy allows.
func (p *Policy) excused(r *vm.Report) map[int64]bool {
	if len(p.AllowGlobals)+len(p.Classes) == 0 {
		return nil
	}
	at := map[int64]bool{}
	for e := range r.Events() {
		if !e.OK {
			excused := p.excusesEvent(&e)
			if before, seen := at[e.Off]; seen { // INST names and calls at one place
				excused = excused && before
			}
			at[e.Off] = excused
		}
	}
	return at
}

// excusesEvent reports whether the policy allows what a pickle asks for. A global that is allowed
// by name may be called, given a state and changed in any way. Its name does not say what a call of
// its result does.
func (p *Policy) excusesEvent(e *vm.Event) bool {
	g := e.On.Global()
	how := p.allows(g)
	if how == allowedInClass {
		return e.Fits && p.allowsVersions(g.Set(), e.On.SetVersions())
	}
	if how == notAllowed || e.Use == vm.UseGlobal {
		return how != notAllowed
	}
	isObject := e.On.Kind() == vm.KindObject
	if how == allowedByName {
		return isObject != (e.Use == vm.UseCall) && (e.Use != vm.UseBuild || isOpaqueState(e.With))
	}
	switch e.Use {
	case vm.UseCall:
		return !isObject && isPlainCall(e.With)
	case vm.UseBuild:
		return isObject && e.On.Args().Kind() == vm.KindTuple && isAttributes(e.With)
	}
	return false
}

// isPlainCall reports whether there are no arguments, as for a class, or a single number
// or text, as for a member of an enumeration.
func isPlainCall(args vm.Value) bool {
	if args.Kind() != vm.KindTuple || args.Len() > 1 {
		return false
	}
	if args.Len() == 0 {
		return true
	}
	k := args.At(0).Kind()
	return k == vm.KindText || k == vm.KindInt
}

// isAttributes reports whether a state sets attributes by name, and none that Python
// itself looks up.
func isAttributes(state vm.Value) bool {
	if state.Kind() != vm.KindDict {
		return false
	}
	for k := range state.Entries() {
		if k.Kind() != vm.KindText || strings.HasPrefix(k.Text(), "__") {
			return false
		}
	}
	return true
}

// isOpaqueState reports whether a state sets no attribute that Python itself looks up, be
// it among those of __dict__ or of slots.
func isOpaqueState(state vm.Value) bool {
	parts := []vm.Value{state}
	if state.Kind() == vm.KindTuple && state.Len() == 2 {
		parts = []vm.Value{state.At(0), state.At(1)}
	}
	for _, part := range parts {
		for k := range part.Entries() {
			if name := k.Text(); k.Kind() == vm.KindText && name != "__dict__" && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") {
				return false
			}
		}
	}
	return true
}

// excusesWeightsOnly reports whether PyTorch's restricted loader objects only to globals
// that the policy allows. A user who trusts a global tells that loader so with
// torch.serialization.add_safe_globals.
func (p *Policy) excusesWeightsOnly(r *vm.Report) bool {
	if r.WeightsOnly.OK {
		return true
	}
	if r.WeightsOnly.More > 0 || len(p.AllowGlobals)+len(p.Classes) == 0 {
		return false
	}
	excused := p.excused(r)
	for _, why := range r.WeightsOnly.Reasons {
		if why.Code != "global" || !excused[why.Off] {
			return false
		}
	}
	return true
}

// noPickles returns an error if the policy refuses all pickles.
func (p *Policy) noPickles() error {
	if p.Pickle != PickleRefuse {
		return nil
	}
	return disallow(noPickleRule, "scan", "", "the policy refuses pickles")
}

// asksTooMuch returns an error if the policy refuses a pickle that our list of data
// allows.
func (p *Policy) asksTooMuch(found *pth.Report) error {
	if p.Pickle != PickleWeightsOnly {
		return nil
	}
	for i := range found.Pickles {
		one := &found.Pickles[i]
		if one.Beside || p.excusesWeightsOnly(one.Report) {
			continue
		}
		why := "it is unsure"
		if list := one.Report.WeightsOnly.Reasons; len(list) > 0 {
			why = list[0].Text
		}
		return disallow(weightsOnlyRule, "scan", one.Name, "%s would not load it: %s", one.Report.WeightsOnly.By, why)
	}
	return nil
}
