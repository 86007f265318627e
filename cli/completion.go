package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/command"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
)

// completionCmd prints what makes a shell complete the words of this program. The
// script asks the program itself, so it is as new as the program.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"The shell: bash, zsh, fish or powershell."`
}

func (completionCmd) Help() string {
	return `Completes commands, flags, their values, model files, and the names of tensors once the line
names a model. Names with characters that a shell could interpret are not offered.`
}

func (completionCmd) examples() []example {
	return []example{
		{"amn completion bash > amn.bash", "Then: source amn.bash (in ~/.bashrc to keep it)."},
		{"amn completion zsh > _amn", "Put it in a folder of $fpath."},
		{"amn completion fish > amn.fish", "Put it into ~/.config/fish/completions."},
		{"amn completion powershell > amn.ps1", "Then: . ./amn.ps1 (in $PROFILE to keep it)."},
	}
}

// Run implements the command.
func (c *completionCmd) Run(_ context.Context, s *session) error {
	if s.json {
		return usage{"amn completion prints a script for a shell, which JSON does not hold"}
	}
	extensions := strings.Join(modelExtensions(), "|")
	_, err := s.out.WriteString(strings.NewReplacer("@ASK@", askForWords, "@EXT@", extensions).Replace(completionScripts[c.Shell]))
	return err
}

// askForWords is the word that the scripts call the program with: what follows are
// the words of the line after "amn", the last one unfinished.
const askForWords = "__complete"

// modelExtensions are those of files that are read, without their dots.
func modelExtensions() []string {
	var list []string
	for _, f := range parser.Formats() {
		for _, ext := range f.Extensions {
			if ext = strings.TrimPrefix(ext, "."); ext != "" && !slices.Contains(list, ext) {
				list = append(list, ext)
			}
		}
	}
	slices.Sort(list)
	return list
}

// A completion is the words that may stand at a place, and whether files may.
type completion struct {
	words []offer
	files string // "models" or "any", else ""
}

// An offer is a word and what it means.
type offer struct{ word, what string }

// complete prints what may stand in the place of the last word: a line each with its
// meaning behind a tab, and last whether files may stand there.
func (s *session) complete(ctx context.Context, root *command.Command, words []string) error {
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
	c := completionOf(ctx, root, words)
	if c.files == "models" && last != "" {
		c.words = append(c.words, s.schemes()...)
	}
	for _, o := range c.words {
		if strings.HasPrefix(o.word, last) && plainWord(o.word) {
			fmt.Fprintf(s.out, "%s\t%s\n", o.word, o.what)
		}
	}
	_, err := fmt.Fprintf(s.out, ":%s\n", c.files)
	return err
}

// schemes are those of models that are no files: of addresses only where the program
// opens them.
func (s *session) schemes() []offer {
	list := []offer{{"ollama:", "a model of an ollama store on this machine"}}
	if s.remote != nil {
		list = append(list,
			offer{"hf://", "OWNER/REPO[@REVISION][/FILE] of a hub"}, offer{"https://", "a file of a server"}, offer{"s3://", "BUCKET/KEY"}, offer{"gs://", "BUCKET/KEY"},
			offer{"oci://", "REGISTRY/REPOSITORY:TAG"}, offer{"ollama://", "[HOST/]MODEL[:TAG] of a registry"})
	}
	return list
}

// plainWord reports a word that no shell reads otherwise, whatever quotes it stands in.
func plainWord(word string) bool {
	return word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,@%+=", r))
	}) < 0
}

// completionOf finds the command that the words name, and what may stand last.
func completionOf(ctx context.Context, root *command.Command, words []string) completion {
	if len(words) > 1 && words[0] == "help" {
		words = words[1:]
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	c, paths, flagsEnd := walkWords(root, before)
	if !flagsEnd {
		if name, _, ok := strings.Cut(last, "="); ok && strings.HasPrefix(last, "--") {
			if f := c.Flag(name); f != nil {
				return valuesOf(ctx, c, f, paths)
			}
			return completion{}
		}
		if n := len(before); n > 0 && before[n-1] != "--" {
			if f := c.Flag(before[n-1]); f != nil && f.TakesValue() {
				return valuesOf(ctx, c, f, paths)
			}
		}
		if strings.HasPrefix(last, "-") {
			return completion{words: flagOffers(c)}
		}
	}
	if len(c.Commands()) > 0 && len(paths) == 0 {
		return completion{words: commandOffers(c)}
	}
	return argumentOf(c, len(paths))
}

// walkWords finds the command, and the words that are no flags and no values.
func walkWords(root *command.Command, words []string) (c *command.Command, paths []string, flagsEnd bool) {
	c = root
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case !flagsEnd && w == "--":
			flagsEnd = true
		case !flagsEnd && w != "-" && strings.HasPrefix(w, "-"):
			if root.TakesValue(w) {
				i++
			}
		default:
			if child := c.Find(w); child != nil && len(paths) == 0 {
				c = child
			} else {
				paths = append(paths, w)
			}
		}
	}
	return c, paths, flagsEnd
}

func flagOffers(c *command.Command) []offer {
	var list []offer
	for _, f := range c.Allowed() {
		list = append(list, offer{"--" + f.Name, oneLine(f.Help)})
	}
	return list
}

func commandOffers(c *command.Command) []offer {
	var list []offer
	for _, child := range c.Commands() {
		if child.Hidden {
			continue
		}
		for _, name := range append([]string{child.Name}, child.Aliases...) {
			list = append(list, offer{name, oneLine(child.Help)})
		}
	}
	if c.Parent == nil {
		list = append(list, offer{"help", "Say more about a command."})
	}
	return list
}

// oneLine is the first sentence of a help.
func oneLine(help string) string {
	first, _, more := strings.Cut(help, ". ")
	if more {
		first += "."
	}
	return strings.Join(strings.Fields(first), " ")
}

func words(list ...string) completion {
	var c completion
	for _, w := range list {
		c.words = append(c.words, offer{word: w})
	}
	return c
}

// argumentOf is what may stand as the n-th word of a command.
func argumentOf(c *command.Command, n int) completion {
	if len(c.Args()) == 0 {
		return completion{}
	}
	arg := c.Args()[min(n, len(c.Args())-1)]
	switch {
	case n >= len(c.Args()) && !arg.Many:
		return completion{}
	case len(arg.Enum) > 0:
		return words(arg.Enum...)
	case arg.Name == "profile":
		return words(limits.Profiles()...)
	default:
		return completion{files: "models"}
	}
}

// valuesOf is what a flag takes: its own list, one that the program has, or files.
func valuesOf(ctx context.Context, c *command.Command, f *command.Flag, paths []string) completion {
	switch f.Name {
	case "limits":
		profiles := words(limits.Profiles()...)
		profiles.files = "any"
		return profiles
	case "scheme":
		schemes, _ := quant.Schemes()
		var known completion
		for _, s := range schemes {
			known.words = append(known.words, offer{s.Name, s.Stores})
		}
		return known
	case "tensor":
		return words(tensorNames(ctx, paths)...)
	}
	switch {
	case f.Name == "to" && c.Name == "quantize":
		return words(append([]string{"nf4", "fp4", "int8", "fp8", "fp8_dynamic", "fp8_block", "w8a8", "w8a16", "w4a16"}, mixNames()...)...)
	case f.Name == "to" && c.Name == "convert":
		return words("safetensors", "bf16", "gguf", "npz", "bnb-nf4", "nf4", "bnb-fp4", "bnb-int8")
	case len(f.Enum) > 0:
		return words(f.Enum...)
	case slices.Contains([]string{"PATH", "FILE", "MODEL", "FOLDER", "DIR"}, f.Placeholder):
		return completion{files: "any"}
	}
	return completion{}
}

// Completion must answer while somebody waits, and may be asked about any file.
const (
	completionTime  = 2 * time.Second
	completionNames = 4096
)

// tensorNames are those of the first model among the words, if it is one.
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

// expandHome is a path of which no shell has yet replaced the first character.
func expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}
