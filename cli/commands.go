package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/command"
)

// A commandSpec describes a command: its name, its aliases, one sentence of help, and a
// function that returns the struct of its flags and arguments.
type commandSpec struct {
	name, aliases, help string
	target              func() any
}

// commands lists all commands in the order of the help.
var commands = []commandSpec{
	{"inspect", "info", "Show what a file is: format, tensors, types, sizes.", newOf[inspectCmd]},
	{"parse", "", "List every tensor of a file.", newOf[parseCmd]},
	{"view", "", "Browse tensors, metadata and findings in the terminal.", newOf[browseCmd]},
	{"scan", "", "Judge whether files are safe to load, and list what they ask for.", newOf[scanCmd]},
	{"diff", "", "Compare two models: names, shapes, types, bits.", newOf[diffCmd]},
	{"hash", "digest", "Hash files and tensors; write and check manifests.", newOf[digestCmd]},
	{"stats", "", "Show statistics of a model's numbers: range, mean, zeros, NaN.", newOf[statsCmd]},
	{"verify", "", "Read whole files and check everything that can be checked.", newOf[verifyCmd]},
	{"dequantize", "remember", "Recover the precision of a quantized model.", newOf[rememberCmd]},
	{"quantize", "forget", "Quantize a model: GGUF types and mixes, FP8, MXFP4, INT4, MLX, bitsandbytes.", newOf[forgetCmd]},
	{"convert", "", "Write a model in another format.", newOf[convertCmd]},
	{"edit", "", "Change metadata and tensor names, in a new file or in place.", newOf[editCmd]},
	{"merge", "", "Merge models by a recipe.", newOf[mergeCmd]},
	{"merge-lora", "", "Merge adapters into the model that they were trained on.", newOf[mergeLoRACmd]},
	{"split", "", "Split a model file into several.", newOf[splitCmd]},
	{"join", "", "Join the files of a model into one.", newOf[joinCmd]},
	{"formats", "", "List formats and schemes that are read, and those refused by name.", newOf[formatsCmd]},
	{"limits", "", "Show the limits for files.", newOf[limitsCmd]},
	{"policy", "", "Show, check and explain policies.", newOf[policyCmd]},
	{"serve", "", "Judge uploads as a service, over HTTP or clamd's protocol.", newOf[serveCmd]},
	{"rules", "", "List the rules by which files are refused.", newOf[rulesCmd]},
	{"judge-one", "", "Judge one file for amn serve --isolate.", newOf[judgeCmd]},
	{"version", "", "Print the version.", newOf[versionCmd]},
	{"completion", "", "Print a shell script that completes commands, flags, files and tensors.", newOf[completionCmd]},
	{"man", "", "Print a man page.", newOf[manCmd]},
}

func newOf[T any]() any { return new(T) }

// A runner is a command that can be run.
type runner interface {
	Run(ctx context.Context, s *session) error
}

// program returns the command line of the program; parsing sets g.
func program(g *globals) *command.Command {
	root := command.New("amn", "Parse any tensor file and let no hostile byte through.", g)
	for _, c := range commands {
		child := command.New(c.name, c.help, c.target())
		child.Aliases = strings.Fields(c.aliases)
		child.Hidden = c.name == "judge-one" // called only by amn serve
		root.Add(child)
	}
	return root
}

// parse returns the command with its flags set, or nil if help was printed.
func (s *session) parse(g *globals, args []string) (runner, error) {
	c, err := program(g).Parse(args)
	switch {
	case errors.Is(err, command.ErrHelp):
		s.printHelp(s.out, c)
		return nil, nil
	case err != nil:
		return nil, usageError(err)
	}
	return c.Target.(runner), nil
}
