package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

var (
	flagName = regexp.MustCompile(`--[a-z][a-z0-9-]*[a-z0-9]`)
	advised  = regexp.MustCompile(`amn ([a-z][a-z-]+)((?: +(?:-[A-Za-z]|--[a-z0-9-]+|[A-Za-z0-9_.,*'/=]+))*)`)
)

// flagsIn returns the flags that a text names.
func flagsIn(text string) []string {
	return flagName.FindAllString(begun.ReplaceAllString(others.ReplaceAllString(text, ""), ""), -1)
}

// others are flags of llama.cpp's programs.
var others = regexp.MustCompile(`(llama|gguf)-[a-z-]+ --[a-z-]+`)

// begun is the beginning of several flags, such as --max-.
var begun = regexp.MustCompile(`--[a-z-]+-(?:[^a-z0-9-]|$)`)

// flagsByCommand are the flags of each command, with those that all have.
func flagsByCommand() map[string]map[string]bool {
	all := program(new(policies.Globals))
	of := map[string]map[string]bool{}
	for _, c := range all.Children {
		list := map[string]bool{"--help": true, "--version": true}
		for _, n := range append([]*kong.Node{c, all}, c.Children...) {
			for _, f := range n.AllFlags(true) {
				for _, one := range f {
					list["--"+one.Name] = true
				}
			}
		}
		of[c.Name] = list
	}
	return of
}

// commandsOf are the commands that a struct of flags belongs to, by the struct's name.
func commandsOf() map[string][]string {
	of := map[string][]string{}
	var walk func(t reflect.Type, command string)
	walk = func(t reflect.Type, command string) {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || t.Name() == "" {
			return
		}
		of[t.Name()] = append(of[t.Name()], command)
		for i := range t.NumField() {
			if f := t.Field(i); f.Anonymous {
				walk(f.Type, command)
			}
		}
	}
	for _, c := range commands {
		walk(reflect.TypeOf(c.target()), c.name)
	}
	return of
}

// A message advises only flags of its own command, or says which command has the flag:
// "--raw-names" does not help a user of amn quantize.
func TestAMessageNamesFlagsThatItsCommandHas(t *testing.T) {
	flags, structs, set := flagsByCommand(), commandsOf(), token.NewFileSet()
	looked := 0
	for _, name := range sourcesOfCommands(t) {
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			// A message that no command's own method prints could come from any command.
			by := slices.Collect(maps.Keys(flags))
			if own := structs[receiver(d)]; len(own) > 0 {
				by = own
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if field, ok := n.(*ast.Field); ok && field.Tag != nil {
					return false // a flag's own help
				}
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, _ := strconv.Unquote(lit.Value)
				looked += len(flagsIn(text))
				for _, wrong := range wrongAdvice(text, by, flags) {
					t.Errorf("%s: %q: %s", set.Position(lit.Pos()), text[:min(len(text), 100)], wrong)
				}
				return true
			})
		}
	}
	if looked < 200 {
		t.Errorf("only %d flags were looked at", looked)
	}
}

// sourcesOfCommands lists the files of this package and of those below it.
func sourcesOfCommands(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// receiver returns the type that a method is of, or "".
func receiver(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil {
		return ""
	}
	kind := f.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	of, _ := kind.(*ast.Ident)
	if of == nil {
		return ""
	}
	return of.Name
}

// otherPrograms are flags of other programs that texts name.
var otherPrograms = strings.NewReplacer("clamdscan --fdpass", "clamdscan")

// wrongAdvice says which flags of a text no command has that prints it.
func wrongAdvice(text string, by []string, flags map[string]map[string]bool) (wrong []string) {
	text = advised.ReplaceAllStringFunc(otherPrograms.Replace(text), func(s string) string {
		m := advised.FindStringSubmatch(s)
		of := flags[m[1]]
		if of == nil {
			return s // "amn" and another word
		}
		for _, f := range flagsIn(m[2]) {
			if !of[f] {
				wrong = append(wrong, "amn "+m[1]+" has no "+f)
			}
		}
		return ""
	})
	for _, f := range flagsIn(text) {
		has := false
		for _, c := range by {
			has = has || flags[c][f]
		}
		if !has && len(by) == len(flags) {
			wrong = append(wrong, "no command has "+f)
		} else if !has {
			wrong = append(wrong, strings.Join(by, ", ")+": no "+f)
		}
	}
	return wrong
}

// Messages of the library name flags through options. Commands print them that read or write
// quantized models; where one has no such flag, the text says which command has it.
func TestAnOptionIsAFlagWhereItIsPrinted(t *testing.T) {
	reads, writes, quantizes := []string{"inspect", "stats", "dequantize", "quantize", "convert"}, []string{"dequantize", "quantize", "convert"}, []string{"quantize", "convert"}
	flags := flagsByCommand()
	for o, printed := range map[wire.Option][]string{
		wire.OptionScheme: reads, wire.OptionGPTQZeros: reads, wire.OptionBlock: reads, wire.OptionFoldPreQuant: reads, wire.OptionIgnoreUnknown: reads, wire.OptionAs: reads,
		wire.OptionTarget: quantizes, wire.OptionKeep: writes, wire.OptionForce: writes, wire.OptionMeta: quantizes, wire.OptionRawNames: quantizes, wire.OptionTargetModel: quantizes, wire.OptionInclude: quantizes, wire.OptionExclude: quantizes, wire.OptionAsIs: {"convert"}, wire.OptionResume: {"dequantize", "quantize", "convert", "merge", "merge-lora", "split", "join"},
	} {
		for _, command := range printed {
			for _, wrong := range optionAdvice(fault.OptionFlags[o], command, flags) {
				t.Errorf("%s: %s", o, wrong)
			}
		}
	}
}

// optionAdvice says which flags of a text the command does not have, unless the text names a
// command that has them.
func optionAdvice(text, command string, flags map[string]map[string]bool) (wrong []string) {
	named := advised.FindAllStringSubmatch(text, -1)
	for _, f := range flagsIn(text) {
		has := flags[command][f]
		for _, o := range named {
			has = has || flags[o[1]][f]
		}
		if !has {
			wrong = append(wrong, command+" has no "+f)
		}
	}
	return wrong
}
