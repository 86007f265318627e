package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
	"github.com/anamnesis-go/anamnesis/cli/internal/write"
	"github.com/anamnesis-go/anamnesis/internal/effort"
)

// The program of these tests: a command with every kind of field, and a group of commands.
type (
	lineGlobals struct {
		Quiet bool `short:"q" help:"Quiet."`

		Max lineLimits `embed:"" group:"limits"`
	}
	lineLimits struct {
		Total string `name:"max-total" default:"8GiB" help:"Largest total (${default})."`
	}
	lineShared struct {
		Force  bool   `short:"f" help:"Force."`
		Output string `short:"o" placeholder:"PATH" help:"Output."`
	}
	lineConvert struct {
		lineShared `embed:""`

		Path string   `arg:"" help:"Path."`
		More []string `arg:"" optional:"" name:"more" help:"More."`

		To        string           `default:"" enum:",bf16,f16" help:"Type."`
		BlockSize []int64          `sep:"," help:"Sizes."`
		Tensor    []string         `help:"Names."`
		Limit     int              `default:"20" help:"Limit (${default})."`
		Wait      time.Duration    `default:"30s" help:"Wait."`
		Digest    bool             `default:"true" negatable:"" help:"Digest."`
		Page      write.ReportFlag `help:"Page."`
	}
	lineGroup struct {
		Show  lineShow  `cmd:"" default:"withargs" help:"Show."`
		Check lineCheck `cmd:"" help:"Check."`
	}
	lineShow struct {
		Profile string `arg:"" optional:"" default:"" enum:",server,strict" help:"Profile."`
	}
	lineCheck struct{}
	lineCopy  struct {
		lineShared `embed:""`
	}
)

func (c *lineConvert) Help() string { return "More about it." }

func (s *lineShared) Validate() error {
	if s.Output == "/" {
		return errors.New("--output: it is a root")
	}
	return nil
}

func testProgram(t testing.TB) (*kong.Kong, *lineConvert, *lineGroup) {
	c, l := new(lineConvert), new(lineGroup)
	k, err := newParser(new(lineGlobals), []commandSpec{
		{"convert", "write", "Convert.", func() any { return c }},
		{"limits", "", "Limits.", func() any { return l }},
		{"copy", "", "Copy.", newOf[lineCopy]},
	})
	if err != nil {
		t.Fatal(err)
	}
	return k, c, l
}

func TestALineSetsTheFieldsOfItsCommand(t *testing.T) {
	for line, want := range map[string]string{
		"convert a":                     "a [] / to= sizes=[] names=[] 20 30s digest=true page={false } force=false out=",
		"write a b c":                   "a [b c] / to= sizes=[] names=[] 20 30s digest=true page={false } force=false out=",
		"convert a -fo x --to f16 b":    "a [b] / to=f16 sizes=[] names=[] 20 30s digest=true page={false } force=true out=x",
		"-o x convert a --limit=-5":     "a [] / to= sizes=[] names=[] -5 30s digest=true page={false } force=false out=x",
		"-fo x convert a":               "a [] / to= sizes=[] names=[] 20 30s digest=true page={false } force=true out=x",
		"convert -ox -o=y - -- -z --to": "- [-z --to] / to= sizes=[] names=[] 20 30s digest=true page={false } force=false out=y",
		"convert a -o -":                "a [] / to= sizes=[] names=[] 20 30s digest=true page={false } force=false out=-",
		"convert \xff -o \xfe":          "\xff [] / to= sizes=[] names=[] 20 30s digest=true page={false } force=false out=\xfe",
		"convert a --limit 010":         "a [] / to= sizes=[] names=[] 10 30s digest=true page={false } force=false out=",
		"convert a --no-digest --page":  "a [] / to= sizes=[] names=[] 20 30s digest=false page={true } force=false out=",
		"convert --page=x.html a":       "a [] / to= sizes=[] names=[] 20 30s digest=true page={true x.html} force=false out=",
		"convert a --wait 1h30m -q":     "a [] / to= sizes=[] names=[] 20 1h30m0s digest=true page={false } force=false out=",
		"convert --force=no a -q -- -q": "a [-q] / to= sizes=[] names=[] 20 30s digest=true page={false } force=false out=",
		"convert a --block-size 1,2 --block-size 16 --tensor a,b --tensor c": "a [] / to= sizes=[1 2 16] names=[a,b c] 20 30s digest=true page={false } force=false out=",
	} {
		k, to, _ := testProgram(t)
		got, err := parseLine(k, strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		set := fmt.Sprintf("%s %v / to=%s sizes=%v names=%v %d %v digest=%v page=%v force=%v out=%s",
			to.Path, to.More, to.To, to.BlockSize, to.Tensor, to.Limit, to.Wait, to.Digest, to.Page, to.Force, to.Output)
		if commandPath(got) != "amn convert" || targetOf(got) != any(to) || set != want {
			t.Errorf("%s: %s\n got %s\nwant %s", line, commandPath(got), set, want)
		}
	}
}

func TestAGroupHasACommandThatRunsIfNoneIsNamed(t *testing.T) {
	for line, want := range map[string]string{
		"limits": "amn limits show ", "limits strict": "amn limits show strict", "limits show server": "amn limits show server",
		"limits -q strict --max-total 1": "amn limits show strict", "limits check": "amn limits check ",
	} {
		k, _, l := testProgram(t)
		c, err := parseLine(k, strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if got := commandPath(c) + " " + l.Show.Profile; got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestAWrongLineIsExplained(t *testing.T) {
	for _, c := range []struct{ line, of, want string }{
		{"", "amn", "name a command: convert, limits, copy"},
		{"-q", "amn", "name a command: convert, limits, copy"},
		{"convret", "amn", `"convret" is not a command, did you mean "convert"?`},
		{"convret --help", "amn", `"convret" is not a command, did you mean "convert"?`},
		{"a/convert", "amn", `"a/convert" is not a command; did you mean amn inspect a/convert?`},
		{"-- convert", "amn", `"convert" is not a command, did you mean "convert"?`},
		{"convert", "amn convert", "<path> is missing: path"},
		{"convert a --forse", "amn convert", `unknown flag --forse, did you mean "--force"?`},
		{"convert a --no-force", "amn convert", `unknown flag --no-force, did you mean "--force"?`},
		{"convert a -fx", "amn convert", "unknown flag -x"},
		{"convert a -f\xff", "amn convert", "unknown flag -\xff"},
		{"convert a --to bf61", "amn convert", `--to: "bf61" is not one of bf16, f16, did you mean "bf16"?`},
		{"convert a -o", "amn convert", "--output: the value is missing"},
		{"convert -o -- a", "amn convert", "--output: the value is missing"},
		{"convert a -o --to f16", "amn convert", "--output: the value is missing; if it is --to, write --output=--to"},
		{"convert a --limit 1.5", "amn convert", `--limit: "1.5" is not a whole number`},
		{"convert a --limit 0x10", "amn convert", `--limit: "0x10" is not a whole number`},
		{"convert a --limit 99999999999999999999", "amn convert", "--limit: 99999999999999999999 is too large"},
		{"convert a --block-size 1,x", "amn convert", `--block-size: "x" is not a whole number`},
		{"convert a --wait 3", "amn convert", `--wait: "3" is not a duration: write "30s", "5m" or "1h30m"`},
		{"convert a --force=maybe", "amn convert", `--force: bool value must be true, 1, yes, false, 0 or no but got "maybe"`},
		{"convert a -o /", "amn convert", "--output: it is a root"},
		{"copy -o /", "amn copy", "--output: it is a root"},
		{"copy a", "amn copy", "unexpected argument a"},
		{"limits show edge", "amn limits show", `[<profile>]: "edge" is not one of server, strict`},
		{"limits strict server", "amn limits", "unexpected argument server"},
	} {
		k, _, _ := testProgram(t)
		at, err := parseLine(k, strings.Fields(c.line))
		if err == nil || err.Error() != c.want || commandPath(at) != c.of {
			t.Errorf("%s: of %s: %v", c.line, commandPath(at), err)
		}
	}
}

// Somebody who asks for help does not yet know what is right.
func TestHelpIsPrintedForWrongCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"--help": "amn", "-h": "amn", "convert -h": "amn convert", "convert --bogus --help": "amn convert", "convert --limit x -qh": "amn convert",
		"limits --help": "amn limits", "limits show -h": "amn limits show", "-h limits check": "amn limits check", "convert -o --help": "amn convert",
	} {
		k, _, _ := testProgram(t)
		if c, err := parseLine(k, strings.Fields(line)); !errors.Is(err, errHelp) || commandPath(c) != want {
			t.Errorf("%s: of %s: %v", line, commandPath(c), err)
		}
	}
	k, _, _ := testProgram(t)
	if _, err := parseLine(k, []string{"convert", "a", "--", "--help"}); err != nil {
		t.Error(err)
	}
}

// An empty value is mostly a variable that a script did not set: a flag that asks for a check
// would pass for one that was not given.
func TestAnEmptyValueIsAnError(t *testing.T) {
	for _, args := range [][]string{
		{"convert", "a", "--to", ""}, {"convert", "a", "--to="}, {"convert", "a", "-o", ""}, {"convert", "a", "-fo", ""}, {"convert", "a", "-o="}, {"convert", "a", "--output="},
		{"convert", "a", "--tensor", ""}, {"convert", "a", "--max-total="}, {"convert", "a", "--page="}, {"convert", "a", "--force="},
	} {
		k, _, _ := testProgram(t)
		if _, err := parseLine(k, args); err == nil {
			t.Errorf("%q passes", args)
		}
	}
}

func TestTheModelIsThatOfTheFields(t *testing.T) {
	k, _, _ := testProgram(t)
	c := childNamed(k.Model.Node, "write")
	var flags []string
	for _, f := range allowedFlags(c) {
		group := ""
		if f.Group != nil {
			group = f.Group.Key
		}
		flags = append(flags, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Name, group, f.PlaceHolder)))
	}
	want := []string{"force", "output  PATH", "to", "block-size", "tensor", "limit", "wait", "digest", "page", "help", "quiet", "max-total limits"}
	if diff := cmp.Diff(want, flags); diff != "" {
		t.Error(diff)
	}
	if got := c.Positional[0].Summary() + " " + c.Positional[1].Summary(); got != "<path> [<more> ...]" || c.Detail != "More about it." {
		t.Errorf("%s %s", got, c.Detail)
	}
	if got := flagNamed(c, "--limit").Help; got != "Limit (20)." {
		t.Error(got)
	}
	if got := commandNames(k.Model.Node); !slices.Equal(got, []string{"convert", "write", "limits", "copy"}) {
		t.Error(got)
	}
}

// A line that its first word gives a model of one command is read as by the model of all.
func TestOneCommandIsReadAsAmongAll(t *testing.T) {
	read := func(list []commandSpec, args []string) string {
		k, err := newParser(new(policies.Globals), list)
		if err != nil {
			t.Fatal(err)
		}
		n, err := parseLine(k, args)
		if err != nil {
			return commandPath(n) + ": " + err.Error()
		}
		return fmt.Sprintf("%s %+v", commandPath(n), targetOf(n))
	}
	for i, c := range commands {
		if !effort.Some(i) {
			continue
		}
		for _, rest := range []string{"", "x", "--json x", "--bogus x", "x -o y", "--help", "-q x y --limits strict", "x --tensor"} {
			args := strings.Fields(c.name + " " + rest)
			if got, want := read(commandsFor(args), args), read(commands, args); got != want {
				t.Errorf("%q: %s\namong all: %s", args, got, want)
			}
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, line := range []string{"convert a -fo x --to f16", "limits strict", "-- convert", "convert --no-digest -- a", "-ho=\xff"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		k, to, _ := testProgram(t)
		c, err := parseLine(k, strings.Split(line, " "))
		switch {
		case err == nil && c.Name == "convert" && to.To != "" && to.To != "bf16" && to.To != "f16":
			t.Errorf("--to %q", to.To)
		case err == nil && len(c.Children) > 0:
			t.Errorf("%s runs", commandPath(c))
		case c == nil:
			t.Error("no command")
		}
	})
}
