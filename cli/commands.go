package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/command"
)

// A verb is a word of the program, what help says of it, and the flags and
// arguments that it takes.
type verb struct {
	name, also, help string
	make             func() any
}

// commands are all, in the order of the help.
var commands = []verb{
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
	{"serve", "", "Judge uploads as a service, over HTTP or clamd's protocol.", fresh[serveCmd]},
	{"rules", "", "List the rules by which files are refused.", fresh[rulesCmd]},
	{"judge-one", "", "Judge one file for amn serve --isolate.", fresh[judgeCmd]},
	{"version", "", "Print the version.", fresh[versionCmd]},
	{"completion", "", "Print a shell script that completes commands, flags, files and tensors.", fresh[completionCmd]},
	{"man", "", "Print a man page.", fresh[manCmd]},
}

func fresh[T any]() any { return new(T) }

// A runner is a command that runs.
type runner interface {
	Run(ctx context.Context, s *session) error
}

// program is the model of the command line, which sets these flags.
func program(g *globals) *command.Command {
	root := command.New("amn", "Parse any tensor file and let no hostile byte through.", g)
	for _, c := range commands {
		child := command.New(c.name, c.help, c.make())
		child.Aliases = strings.Fields(c.also)
		child.Hidden = c.name == "judge-one" // called by amn serve alone
		root.Add(child)
	}
	return root
}

// parse finds the command and sets its flags; nil is a help that was printed.
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
