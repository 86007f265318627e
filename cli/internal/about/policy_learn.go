package about

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// policyLearnCmd drafts a policy.
type policyLearnCmd struct {
	Files      []string `arg:"" name:"file" help:"Pickles or checkpoints that you trust."`
	Output     string   `short:"o" placeholder:"FILE" help:"Write the policy to this file, which must not exist."`
	EvenDanger bool     `help:"Except files that ask for what runs code, each by its SHA-256. Their code runs when they are loaded."`
}

func (policyLearnCmd) Help() string {
	return `Drafts the smallest policy that accepts pickles you trust: the names that they ask for beyond data,
with the uses of each, in allow_globals. A policy allows a name for every file: whoever loads a
file under it runs what the names do. Names that run code are never allowed; a file that asks for
one is left out, or excepted by its SHA-256 with --even-danger. At the end each file is judged
again under the policy. The exit code is that of the worst file that is still refused. Everything
else in the policy comes from --limits, or from the profile server. Unpack archives first.`
}

func (policyLearnCmd) Examples() []run.Example {
	return []run.Example{{Command: "amn policy learn lightning.pt -o learned.json", What: "What would a policy have to allow for this file?"}}
}

// Run implements the command.
func (c *policyLearnCmd) Run(ctx context.Context, s *run.Run) error {
	p := s.Policy.Gate
	for _, path := range c.Files {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			err = fault.Missing(path, err)
			s.Count.Note(err)
			s.PrintError(path, err)
		}
	}
	if s.Count.Worst != wire.OK {
		return nil
	}
	l := learner{cmd: c, s: s, policy: &p, why: map[string]*learned{}}
	if err := l.eachFile(ctx, l.learn); err != nil {
		return err
	}
	slices.Sort(p.AllowGlobals)
	if err := p.Validate(); err != nil {
		return err
	}
	if err := l.write(); err != nil {
		return err
	}
	l.explain()
	return l.eachFile(ctx, l.judgeAgain)
}

// A learner collects what files need.
type learner struct {
	cmd    *policyLearnCmd
	s      *run.Run
	policy *gate.Policy
	why    map[string]*learned
}

// A learned name is why a policy allows it.
type learned struct {
	uses  []string
	files int
	first string
}

// eachFile judges each file under the policy as it is now.
func (l *learner) eachFile(ctx context.Context, do func(path string, v *gate.Verdict)) error {
	g := gate.Gate{Policy: *l.policy, Digest: true}
	for _, path := range l.cmd.Files {
		b := l.policy.Limits.Budget(ctx)
		for v, err := range g.CheckPath(b, path) {
			if err != nil {
				b.Close()
				return err
			}
			do(path, v)
			v.Close()
		}
		b.Close()
	}
	return nil
}

// say writes a line for people.
func (l *learner) say(format string, args ...any) { fmt.Fprintf(l.s.Err, format+"\n", args...) }

// learn adds what a file needs to the policy.
func (l *learner) learn(path string, v *gate.Verdict) {
	if v.Accepted() {
		return
	}
	needs := v.Needs()
	for _, n := range needs {
		if n.Reason == "" {
			continue
		}
		if l.cmd.EvenDanger && v.SHA256 != "" {
			l.policy.Ignore = append(l.policy.Ignore, gate.Exception{Rule: "pickle.*", SHA256: v.SHA256, Reason: "trusted by its content: it asks for " + n.Name + " (" + n.Reason + ")"})
			return
		}
		l.say("%s: not learned: it asks for %s: %s", term.Path(path), wire.Clean(n.Name, wire.MaxQuoted), n.Reason)
		return
	}
	for _, n := range needs {
		one := l.why[n.Name]
		if one == nil {
			one = &learned{first: path}
			l.why[n.Name] = one
			l.policy.AllowGlobals = append(l.policy.AllowGlobals, n.Name)
		}
		one.files++
		for _, use := range n.Uses {
			if !slices.Contains(one.uses, use) {
				one.uses = append(one.uses, use)
			}
		}
	}
}

// write writes the policy to its file, or to standard output.
func (l *learner) write() error {
	if l.cmd.Output == "" {
		return printPolicy(l.s, l.policy)
	}
	text, err := l.policy.MarshalJSON()
	if err != nil {
		return err
	}
	f, err := disk.Create(disk.Output{Flag: "-o", Path: l.cmd.Output, Kind: "policy"}, false, nil)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.W.Write(append(text, '\n')); err != nil {
		return err
	}
	return f.Commit()
}

// explain lists each allowed name, and why it is allowed.
func (l *learner) explain() {
	for _, name := range l.policy.AllowGlobals {
		if one := l.why[name]; one != nil {
			l.say("allowed: %s (%s), for %s, first %s", wire.Clean(name, wire.MaxQuoted), strings.Join(one.uses, ", "), term.Plural(int64(one.files), "file"), term.Path(one.first))
		}
	}
}

// judgeAgain reports a file that is refused under the policy.
func (l *learner) judgeAgain(path string, v *gate.Verdict) {
	if v.Accepted() {
		return
	}
	l.s.Count.Worst = max(l.s.Count.Worst, v.Class())
	l.say("%s: still refused: %s", term.Path(path), term.Tidy(v.Err.Error(), 2048))
}
