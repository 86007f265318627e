package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/anamnesis-go/anamnesis/cli/internal/about"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/scan"
	"github.com/anamnesis-go/anamnesis/cli/internal/serve"
	"github.com/anamnesis-go/anamnesis/cli/internal/verify"
	"github.com/anamnesis-go/anamnesis/cli/internal/view"
	"github.com/anamnesis-go/anamnesis/cli/internal/write"
)

// A commandSpec describes a command: its name, its aliases, one sentence of help, and a
// function that returns the struct of its flags and arguments.
type commandSpec struct {
	name, aliases, help string
	target              func() any
}

// commands lists all commands in the order of the help.
var commands = []commandSpec{
	{"inspect", "info", "Show what a file is: format, tensors, types, sizes.", newOf[view.Inspect]},
	{"parse", "", "List every tensor of a file.", newOf[view.Parse]},
	{"view", "", "Browse tensors, metadata and findings in the terminal.", newOf[view.Browse]},
	{"scan", "", "Judge whether files are safe to load, and list what they ask for.", newOf[scan.Scan]},
	{"diff", "", "Compare two models: names, shapes, types, bits.", newOf[verify.Diff]},
	{"hash", "digest", "Hash files and tensors; write and check manifests.", newOf[verify.Hash]},
	{"stats", "", "Show statistics of a model's numbers: range, mean, zeros, NaN.", newOf[view.Stats]},
	{"verify", "", "Read whole files and check everything that can be checked.", newOf[verify.Verify]},
	{"dequantize", "remember", "Recover the precision of a quantized model.", newOf[write.Dequantize]},
	{"quantize", "forget", "Quantize a model: GGUF types and mixes, FP8, MXFP4, INT4, MLX, bitsandbytes.", newOf[write.Quantize]},
	{"convert", "", "Write a model in another format.", newOf[write.Convert]},
	{"edit", "", "Change metadata and tensor names, in a new file or in place.", newOf[write.Edit]},
	{"merge", "", "Merge models by a recipe.", newOf[write.Merge]},
	{"merge-lora", "", "Merge adapters into the model that they were trained on.", newOf[write.MergeLoRA]},
	{"split", "", "Split a model file into several.", newOf[write.Split]},
	{"join", "", "Join the files of a model into one.", newOf[write.Join]},
	{"formats", "", "List formats and schemes that are read, and those refused by name.", newOf[about.Formats]},
	{"limits", "", "Show the limits for files.", newOf[about.Limits]},
	{"policy", "", "Show, check and explain policies.", newOf[about.Policy]},
	{"serve", "", "Judge uploads as a service, over HTTP or clamd's protocol.", newOf[serve.Serve]},
	{"rules", "", "List the rules by which files are refused.", newOf[about.Rules]},
	{"judge-one", "", "Judge one file for amn serve --isolate.", newOf[serve.JudgeOne]},
	{"reread", "", "Read the files of amn serve again.", newOf[serve.Reread]},
	{"version", "", "Print the version.", newOf[about.Version]},
	{"completion", "", "Print a shell script that completes commands, flags, files and tensors.", newOf[completionCmd]},
	{"man", "", "Print a man page.", newOf[manCmd]},
}

func newOf[T any]() any { return new(T) }

// A runner is a command that can be run.
type runner interface {
	Run(ctx context.Context, s *run.Run) error
}

// tags returns kong's tags of the command.
func (c *commandSpec) tags() (list []string) {
	if c.aliases != "" {
		list = append(list, `aliases:"`+c.aliases+`"`)
	}
	if c.name == "judge-one" || c.name == "reread" { // called only by amn serve
		list = append(list, `hidden:""`)
	}
	return list
}

// newParser returns kong's model of the command line with these commands; parsing sets the
// struct that g points to.
// An error means that a tag of a struct is wrong.
func newParser(g any, list []commandSpec) (*kong.Kong, error) {
	options := append(mappers(), kong.Name("amn"), kong.Description("Parse any tensor file and let no hostile byte through."))
	for _, c := range list {
		options = append(options, kong.DynamicCommand(c.name, c.help, "", c.target(), c.tags()...))
	}
	return kong.New(g, options...)
}

// program returns kong's model of all commands.
func program(g *policies.Globals) *kong.Node { return modelOf(g, commands) }

func modelOf(g *policies.Globals, list []commandSpec) *kong.Node {
	k, err := newParser(g, list)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return k.Model.Node
}

// commandsFor returns the command that the first argument names, or else all; for the help of
// the program, all without their flags. To build kong's model of all of them takes longer than
// most commands run.
func commandsFor(args []string) []commandSpec {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		return bare()
	}
	for i, c := range commands {
		if args[0] == c.name || args[0] == c.aliases {
			return commands[i : i+1]
		}
	}
	return commands
}

// bare returns all commands without their flags and arguments, which the help of the program does
// not show. Subcommands stay.
func bare() []commandSpec {
	list := slices.Clone(commands)
	for i, c := range list {
		if !hasCommands(reflect.TypeOf(c.target()).Elem()) {
			list[i].target = func() any { return new(struct{}) }
		}
	}
	return list
}

func hasCommands(t reflect.Type) bool {
	for i := range t.NumField() {
		if _, is := t.Field(i).Tag.Lookup("cmd"); is {
			return true
		}
	}
	return false
}

// parseCommand returns the command with its flags set, or nil if help was printed.
func parseCommand(s *run.Run, g *policies.Globals, args []string) (runner, error) {
	k, err := newParser(g, commandsFor(args))
	if err != nil {
		return nil, fmt.Errorf("internal error: %w", err)
	}
	node, err := parseLine(k, args)
	switch {
	case errors.Is(err, errHelp):
		printHelp(s, s.Out, node, errors.Is(err, errShortHelp))
		return nil, nil
	case err != nil:
		return nil, fault.Usage(fmt.Sprintf("%s (see %s --help)", err, commandPath(node)))
	}
	s.Command, s.Given = node.Name, func() []run.Flag { return givenFlags(node) }
	return targetOf(node).(runner), nil
}

// givenFlags returns the flags of a command that were given a value other than none.
func givenFlags(n *kong.Node) (list []run.Flag) {
	for _, f := range n.Flags {
		if !f.Target.IsZero() {
			list = append(list, run.Flag{Name: f.Name, Value: fmt.Sprint(f.Target), Names: f.PlaceHolder == "FILE" || f.PlaceHolder == "DIR"})
		}
	}
	return list
}

// errHelp is returned if help was asked for.
var errHelp = errors.New("help was asked for")

// errShortHelp is returned if -h asked for it.
var errShortHelp = fmt.Errorf("short %w", errHelp)

// parseLine sets the structs of k's model, and returns the command to run, or the last one
// that was recognized.
func parseLine(k *kong.Kong, args []string) (*kong.Node, error) {
	l := sortLine(k.Model.Node, args)
	if l.asksHelp() {
		if l.long || l.node.Parent == nil {
			return l.node, errHelp
		}
		return l.node, errShortHelp
	}
	if err := l.check(); err != nil {
		return l.node, err
	}
	if _, err := k.Parse(l.sorted()); err != nil {
		return l.node, errors.New(l.errorText(err))
	}
	for n := l.command(); n != nil; n = n.Parent {
		if err := validate(n.Target); err != nil {
			return l.node, err
		}
	}
	return l.command(), nil
}

// validate calls the checks of the structs that are embedded in a command. Kong calls only those of
// exported types.
func validate(v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if _, embed := field.Tag.Lookup("embed"); !embed || field.Type.Kind() != reflect.Struct {
			continue
		}
		at := reflect.NewAt(field.Type, v.Field(i).Addr().UnsafePointer()) // the type may be unexported
		if check, ok := at.Interface().(interface{ Validate() error }); ok {
			if err := check.Validate(); err != nil {
				return err
			}
		}
		if err := validate(at.Elem()); err != nil {
			return err
		}
	}
	return nil
}

// errorText returns what kong says about the line. An unknown flag is compared with the long
// flags of the command, and a missing argument is called so.
func (l *line) errorText(err error) string {
	text := err.Error()
	for n := l.command(); n != nil; n = n.Parent {
		text = strings.TrimPrefix(text, n.Path()+": ") // of a check of the command
	}
	if flag, ok := strings.CutPrefix(text, "unknown flag "); ok {
		flag, _, _ = strings.Cut(flag, ", did you mean ")
		var known []string
		for _, f := range allowedFlags(l.command()) {
			if strings.HasPrefix(flag, "--") {
				known = append(known, "--"+f.Name)
			}
		}
		hint := fault.Nearest(flag, known)
		if meant := flagMeant(l.command(), flag); meant != "" {
			hint = "; " + meant
		}
		return "unknown flag " + flag + hint
	}
	if args := l.command().Positional; len(l.args) < len(args) && args[len(l.args)].Required &&
		(strings.HasPrefix(text, "expected ") || strings.HasPrefix(text, "missing positional arguments ")) {
		missing := args[len(l.args)]
		return missing.Summary() + " is missing" + takes(missing.Help)
	}
	return text
}

// takes returns what an argument takes, by the first sentence of its help, to be printed after its
// name.
func takes(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	if first = strings.TrimSuffix(first, "."); first == "" {
		return ""
	}
	return ": " + strings.ToLower(first[:1]) + first[1:]
}

// check refuses a line that names no command.
func (l *line) check() error {
	switch {
	case l.wrong != "":
		return errors.New(l.wrong)
	case len(l.node.Children) == 0 || l.node.DefaultCmd != nil:
		return nil
	case len(l.args) > 0 && strings.ContainsAny(l.args[0], "./") && l.node.Parent == nil:
		return fmt.Errorf("%q is not a command; did you mean amn inspect %s?", l.args[0], l.args[0])
	case len(l.args) > 0:
		return fmt.Errorf("%q is not a command%s", l.args[0], fault.Nearest(l.args[0], commandNames(l.node)))
	}
	var list []string
	for _, c := range l.node.Children {
		if !c.Hidden {
			list = append(list, c.Name)
		}
	}
	if len(list) > 5 {
		list = append(slices.Clip(list[:5]), "...")
	}
	return fmt.Errorf("name a command: %s", strings.Join(list, ", "))
}
