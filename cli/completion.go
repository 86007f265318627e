package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/targets"
	"github.com/anamnesis-go/anamnesis/cli/internal/write"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
)

// completionCmd prints the completion script of a shell. The script calls the program for
// its words, so it never gets out of date.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"The shell: bash, zsh, fish or powershell."`
}

func (completionCmd) Help() string {
	return `Completes commands, flags, their values, model files, and the names of tensors once the line
names a model. Names with characters that a shell could interpret are not offered.`
}

func (completionCmd) Examples() []run.Example {
	return []run.Example{
		{Command: "amn completion bash > amn.bash", What: "Then: source amn.bash (in ~/.bashrc to keep it)."},
		{Command: "amn completion zsh > _amn", What: "Put it in a folder of $fpath."},
		{Command: "amn completion fish > amn.fish", What: "Put it into ~/.config/fish/completions."},
		{Command: "amn completion powershell > amn.ps1", What: "Then: . ./amn.ps1 (in $PROFILE to keep it)."},
	}
}

// Run implements the command.
func (c *completionCmd) Run(_ context.Context, s *run.Run) error {
	if s.JSON {
		return fault.Usage("amn completion prints a shell script: it has no JSON form")
	}
	extensions := strings.Join(modelExtensions(), "|")
	_, err := s.Out.WriteString(strings.NewReplacer("@ASK@", completeCommand, "@EXT@", extensions).Replace(completionScripts[c.Shell]))
	return err
}

// completeCommand is the argument with which the scripts call the program. The words of the
// line after "amn" follow, the last one unfinished.
const completeCommand = "__complete"

// modelExtensions returns the file extensions of the formats, without dots.
func modelExtensions() []string {
	var list []string
	for _, f := range slices.Concat(parser.Formats(), parser.Graphs()) {
		for _, ext := range f.Extensions {
			if ext = strings.TrimPrefix(ext, "."); ext != "" && !slices.Contains(list, ext) {
				list = append(list, ext)
			}
		}
	}
	slices.Sort(list)
	return list
}

// A completion lists the possible words at a position, and says whether files are possible.
type completion struct {
	words []suggestion
	files string // "models" or "any", else ""
}

// A suggestion is a word and its description.
type suggestion struct{ word, what string }

// complete prints the possible completions of the last word, one per line with its
// description after a tab, and in the last line which files are possible.
func complete(ctx context.Context, s *run.Run, root *kong.Node, words []string) error {
	if len(words) == 0 {
		words = []string{""}
	}
	if at := len(words) - 1; words[at] == `""` { // how PowerShell passes an empty word
		words[at] = ""
	}
	last := words[len(words)-1]
	if at := strings.IndexByte(last, '='); strings.HasPrefix(last, "--") && at > 0 {
		last = last[at+1:]
	}
	c := completionFor(ctx, root, words)
	if c.files == "models" && last != "" {
		c.words = append(c.words, addressSchemes(s)...)
	}
	for _, o := range c.words {
		if strings.HasPrefix(o.word, last) && isShellSafe(o.word) {
			fmt.Fprintf(s.Out, "%s\t%s\n", o.word, o.what)
		}
	}
	_, err := fmt.Fprintf(s.Out, ":%s\n", c.files)
	return err
}

// addressSchemes returns the schemes of models that are not files. Schemes of addresses are
// among them if the program opens addresses.
func addressSchemes(s *run.Run) []suggestion {
	list := []suggestion{{"ollama:", "a model of an ollama store on this machine"}}
	if s.Remote != nil {
		list = append(list,
			suggestion{"hf://", "OWNER/REPO[@REVISION][/FILE] of a hub"}, suggestion{"https://", "a file of a server"}, suggestion{"s3://", "BUCKET/KEY"}, suggestion{"gs://", "BUCKET/KEY"},
			suggestion{"oci://", "REGISTRY/REPOSITORY:TAG"}, suggestion{"ollama://", "[HOST/]MODEL[:TAG] of a registry"})
	}
	return list
}

// isShellSafe reports whether no shell interprets a character of word, quoted or not.
func isShellSafe(word string) bool {
	return word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,@%+=", r))
	}) < 0
}

// completionFor returns the completions of the last word, by the command that the words
// before it name.
func completionFor(ctx context.Context, root *kong.Node, words []string) completion {
	if len(words) > 1 && words[0] == "help" {
		words = words[1:]
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	c, paths, flagsEnd := walkWords(root, before)
	if !flagsEnd {
		if name, _, ok := strings.Cut(last, "="); ok && strings.HasPrefix(last, "--") {
			if f := flagNamed(c, name); f != nil {
				return completeValue(ctx, c, f, paths)
			}
			return completion{}
		}
		if n := len(before); n > 0 && before[n-1] != "--" {
			if f := flagNamed(c, before[n-1]); f != nil && takesValue(f) {
				return completeValue(ctx, c, f, paths)
			}
		}
		if strings.HasPrefix(last, "-") {
			return completion{words: flagSuggestions(c)}
		}
	}
	if len(c.Children) > 0 && len(paths) == 0 {
		return completion{words: commandSuggestions(c)}
	}
	return completeArgument(c, len(paths))
}

// walkWords returns the command that words name, and its arguments without flags and their
// values.
func walkWords(root *kong.Node, words []string) (c *kong.Node, paths []string, flagsEnd bool) {
	c = root
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case !flagsEnd && w == "--":
			flagsEnd = true
		case !flagsEnd && w != "-" && strings.HasPrefix(w, "-"):
			if takesNext(root, w) {
				i++
			}
		default:
			if child := childNamed(c, w); child != nil && len(paths) == 0 {
				c = child
			} else {
				paths = append(paths, w)
			}
		}
	}
	return c, paths, flagsEnd
}

func flagSuggestions(c *kong.Node) []suggestion {
	var list []suggestion
	for _, f := range allowedFlags(c) {
		list = append(list, suggestion{"--" + f.Name, firstSentence(f.Help)})
	}
	return list
}

func commandSuggestions(c *kong.Node) []suggestion {
	var list []suggestion
	for _, child := range c.Children {
		if child.Hidden {
			continue
		}
		for _, name := range append([]string{child.Name}, child.Aliases...) {
			list = append(list, suggestion{name, firstSentence(child.Help)})
		}
	}
	if c.Parent == nil {
		list = append(list, suggestion{"help", "Say more about a command."})
	}
	return list
}

// firstSentence returns the first sentence of a help text.
func firstSentence(help string) string {
	first, _, more := strings.Cut(help, ". ")
	if more {
		first += "."
	}
	return strings.Join(strings.Fields(first), " ")
}

func wordCompletion(list ...string) completion {
	var c completion
	for _, w := range list {
		c.words = append(c.words, suggestion{word: w})
	}
	return c
}

// completeArgument returns the completions of the n-th argument of a command.
func completeArgument(c *kong.Node, n int) completion {
	if len(c.Positional) == 0 {
		return completion{}
	}
	arg := c.Positional[min(n, len(c.Positional)-1)]
	switch {
	case n >= len(c.Positional) && !arg.IsCumulative():
		return completion{}
	case arg.Enum != "":
		return wordCompletion(enumOf(arg)...)
	case arg.Name == "profile":
		return wordCompletion(limits.Profiles()...)
	default:
		return completion{files: "models"}
	}
}

// completeValue returns the completions of the value of a flag.
func completeValue(ctx context.Context, c *kong.Node, f *kong.Flag, paths []string) completion {
	switch f.Name {
	case "limits":
		profiles := wordCompletion(limits.Profiles()...)
		profiles.files = "any"
		return profiles
	case "scheme":
		schemes, _ := quant.Schemes()
		var known completion
		for _, s := range schemes {
			known.words = append(known.words, suggestion{s.Name, s.Stores})
		}
		return known
	case "tensor":
		return wordCompletion(tensorNames(ctx, paths)...)
	}
	switch {
	case f.Name == "to" && c.Name == "quantize":
		return wordCompletion(slices.Concat(targets.Names(), targets.ScaledNames(), targets.MixNames())...)
	case f.Name == "to" && c.Name == "convert":
		var names []string
		for _, t := range write.ConvertTargets {
			names = append(names, t.Names...)
		}
		return wordCompletion(names...)
	case f.Enum != "":
		return wordCompletion(enumOf(f.Value)...)
	case slices.Contains([]string{"PATH", "FILE", "MODEL", "FOLDER", "DIR"}, f.PlaceHolder):
		return completion{files: "any"}
	}
	return completion{}
}

// Bounds of completion: a person waits for it, and the file may be hostile.
const (
	completionTime  = 2 * time.Second
	completionNames = 4096
)

// tensorNames returns the tensor names of the first path that is a model.
func tensorNames(ctx context.Context, paths []string) []string {
	p, _ := limits.Profile("edge")
	ctx, stop := context.WithTimeout(ctx, completionTime)
	defer stop()
	for _, path := range paths {
		b := p.Budget(ctx)
		defer b.Close()
		m, err := parser.Open(b, expandHome(path))
		if err != nil {
			continue
		}
		defer m.Close()
		var names []string
		for t := range m.Tensors() {
			if len(names) == completionNames {
				break
			}
			names = append(names, t.Name)
		}
		return names
	}
	return nil
}

// expandHome replaces ~ at the beginning of path, which the shell has not done yet.
func expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}
