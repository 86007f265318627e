package cli

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// A command is a word of the program, what help says of it, and the flags and
// arguments that it takes.
type command struct {
	name, also, help string
	make             func() any
}

// commands are all, in the order of the help.
var commands = []command{
	{"inspect", "info", "Show what a file is: format, tensors, types, sizes.", fresh[inspectCmd]},
	{"parse", "", "List every tensor of a file.", fresh[parseCmd]},
	{"view", "", "Browse tensors, metadata and findings in the terminal.", fresh[browseCmd]},
	{"scan", "", "Judge whether files are safe to load, and list what they ask for.", fresh[scanCmd]},
	{"diff", "", "Compare two models: names, shapes, types, bits.", fresh[diffCmd]},
	{"hash", "digest", "Hash files and tensors; write and check manifests.", fresh[digestCmd]},
	{"stats", "", "Show statistics of a model's numbers: range, mean, zeros, NaN.", fresh[statsCmd]},
	{"verify", "", "Read whole files and check everything that can be checked.", fresh[verifyCmd]},
	{"dequantize", "remember", "Recover the precision of a quantized model.", fresh[rememberCmd]},
	{"quantize", "forget", "Quantize a model: GGUF types and mixes, FP8, MXFP4, INT4, MLX, bitsandbytes.", fresh[forgetCmd]},
	{"convert", "", "Write a model in another format.", fresh[convertCmd]},
	{"edit", "", "Change metadata and tensor names, in a new file or in place.", fresh[editCmd]},
	{"merge", "", "Merge models by a recipe.", fresh[mergeCmd]},
	{"merge-lora", "", "Merge adapters into the model that they were trained on.", fresh[mergeLoRACmd]},
	{"split", "", "Split a model file into several.", fresh[splitCmd]},
	{"join", "", "Join the files of a model into one.", fresh[joinCmd]},
	{"formats", "", "List formats and schemes that are read, and those refused by name.", fresh[formatsCmd]},
	{"limits", "", "Show the limits for files.", fresh[limitsCmd]},
	{"policy", "", "Show, check and explain policies.", fresh[policyCmd]},
	{"serve", "", "Judge uploads as a service, by HTTP or clamd's protocol.", fresh[serveCmd]},
	{"rules", "", "List the rules by which files are refused.", fresh[rulesCmd]},
	{"judge-one", "", "Judge one file for amn serve --isolate.", fresh[judgeCmd]},
	{"version", "", "Print the version.", fresh[versionCmd]},
	{"completion", "", "Print a shell script that completes commands, flags, files and tensors.", fresh[completionCmd]},
	{"man", "", "Print a man page.", fresh[manCmd]},
}

func fresh[T any]() any { return new(T) }

// tags are what kong is told besides the name and the help.
func (c *command) tags() (list []string) {
	if c.also != "" {
		list = append(list, `aliases:"`+c.also+`"`)
	}
	if c.name == "judge-one" { // called by amn serve alone
		list = append(list, `hidden:""`)
	}
	return list
}

// named is the one command that the arguments ask for, as far as their first word
// tells: a model of all takes kong longer than most commands take.
func named(args []string) []command {
	for i, c := range commands {
		if args[0] == c.name || args[0] == c.also {
			return commands[i : i+1]
		}
	}
	return commands
}

// newParser makes kong's model of these commands.
func newParser(g *globals, list []command, s *session) (*kong.Kong, error) {
	options := []kong.Option{
		kong.Name("amn"),
		kong.Description("Parse any tensor file and let no hostile byte through."),
		kong.Writers(s.out, s.err),
		kong.Help(s.printHelp),
		kong.ExplicitGroups(flagGroups),
	}
	for _, c := range list {
		options = append(options, kong.DynamicCommand(c.name, c.help, "", c.make(), c.tags()...))
	}
	return kong.New(g, options...)
}

// parse finds the command and sets its flags; nil is a help that was printed. What one
// command's model refuses is asked of the model of all, which has the words for it.
func (s *session) parse(g *globals, args []string) (*kong.Context, error) {
	if list := named(args); len(list) == 1 {
		if parsed, err := s.parseWith(g, list, args); err == nil {
			return parsed, nil
		}
		*g = globals{}
	}
	return s.parseWith(g, commands, args)
}

func (s *session) parseWith(g *globals, list []command, args []string) (*kong.Context, error) {
	k, err := newParser(g, list, s)
	if err != nil {
		return nil, fmt.Errorf("internal error: %w", err)
	}
	if err := unknownCommand(k.Model, args); err != nil {
		return nil, err
	}
	exited := false
	k.Exit = func(int) { exited = true }
	parsed, err := k.Parse(permute(k.Model, args))
	switch {
	case exited:
		return nil, nil
	case err != nil:
		return nil, usageError(err)
	}
	return parsed, nil
}
