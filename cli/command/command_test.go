package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The program of these tests: a command with every kind of field, a group of commands.
type (
	global struct {
		Help  Help `short:"h" help:"Help."`
		Quiet bool `short:"q" help:"Quiet."`

		Max limits `embed:"" group:"limits"`
	}
	limits struct {
		Total string `name:"max-total" default:"8GiB" help:"Largest total (${default})."`
	}
	shared struct {
		Force  bool   `short:"f" help:"Force."`
		Output string `short:"o" placeholder:"PATH" help:"Output."`
	}
	convert struct {
		shared

		Path string   `arg:"" help:"Path."`
		More []string `arg:"" optional:"" name:"more" help:"More."`

		To        string        `enum:"bf16,f16" help:"Type."`
		BlockSize []int64       `sep:"," help:"Sizes."`
		Tensor    []string      `help:"Names."`
		Limit     int           `default:"20" help:"Limit (${default})."`
		Wait      time.Duration `default:"30s" help:"Wait."`
		Digest    bool          `default:"true" negatable:"" help:"Digest."`
		Page      page          `help:"Page."`

		State int // no flag: it has no help
	}
	page struct {
		on   bool
		name string
	}
	group struct {
		Show  show  `cmd:"" default:"withargs" help:"Show."`
		Check check `cmd:"" help:"Check."`
	}
	show struct {
		Profile string `arg:"" optional:"" enum:"server,strict" help:"Profile."`
	}
	check  struct{}
	copies struct{ shared }
)

func (c *convert) Help() string { return "More about it." }

func (s *shared) Validate() error {
	if s.Output == "/" {
		return errors.New("--output: it is a root")
	}
	return nil
}

func (*page) IsBool() bool { return true }

func (p *page) Set(text string) error {
	if p.on = true; text != "true" {
		p.name = text
	}
	return nil
}

func program() (*Command, *global, *convert, *group) {
	g, c, l := new(global), new(convert), new(group)
	root := New("amn", "A program.", g)
	for _, child := range []*Command{New("convert", "Convert.", c), New("limits", "Limits.", l), New("copy", "Copy.", new(copies))} {
		root.Add(child)
	}
	root.Commands()[0].Aliases, root.Commands()[2].Hidden = []string{"write"}, true
	return root, g, c, l
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ line, path, want string }{
		{"convert a", "amn convert", "a [] / to= sizes=[] names=[] 20 30s digest=true page={false } force=false out="},
		{"write a b c", "amn convert", "a [b c] / to= sizes=[] names=[] 20 30s digest=true page={false } force=false out="},
		{"convert a -fo x --to f16 b", "amn convert", "a [b] / to=f16 sizes=[] names=[] 20 30s digest=true page={false } force=true out=x"},
		{"-o x convert a --limit=-5", "amn convert", "a [] / to= sizes=[] names=[] -5 30s digest=true page={false } force=false out=x"},
		{"convert -ox -o=y - -- -z --to", "amn convert", "- [-z --to] / to= sizes=[] names=[] 20 30s digest=true page={false } force=false out=y"},
		{"convert a --block-size 1,2 --block-size 0x10 --tensor a,b --tensor c", "amn convert", "a [] / to= sizes=[1 2 16] names=[a,b c] 20 30s digest=true page={false } force=false out="},
		{"convert a --no-digest --wait 1h30m --page", "amn convert", "a [] / to= sizes=[] names=[] 20 1h30m0s digest=false page={true } force=false out="},
		{"convert --page=x.html --force=no a", "amn convert", "a [] / to= sizes=[] names=[] 20 30s digest=true page={true x.html} force=false out="},
	} {
		root, _, to, _ := program()
		got, err := root.Parse(strings.Fields(c.line))
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		set := fmt.Sprintf("%s %v / to=%s sizes=%v names=%v %d %v digest=%v page=%v force=%v out=%s",
			to.Path, to.More, to.To, to.BlockSize, to.Tensor, to.Limit, to.Wait, to.Digest, to.Page, to.Force, to.Output)
		if got.Path() != c.path || got.Target != to || set != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.line, got.Path(), set, c.want)
		}
	}
}

func TestACommandIsMeantWhereNoneIsNamed(t *testing.T) {
	for line, want := range map[string]string{
		"limits": "amn limits show ", "limits strict": "amn limits show strict", "limits show server": "amn limits show server",
		"limits -q strict --max-total 1": "amn limits show strict", "limits check": "amn limits check ",
	} {
		root, _, _, l := program()
		c, err := root.Parse(strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if got := c.Path() + " " + l.Show.Profile; got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	for _, c := range []struct{ line, of, want string }{
		{"", "amn", "name a command: convert, limits"},
		{"-q", "amn", "name a command: convert, limits"},
		{"convret", "amn", `"convret" is not a command, did you mean "convert"?`},
		{"convret --help", "amn", `"convret" is not a command, did you mean "convert"?`},
		{"-- convert", "amn", "convert: a command cannot follow --"},
		{"convert", "amn convert", "<path> is missing"},
		{"convert a --forse", "amn convert", `unknown flag --forse, did you mean "--force"?`},
		{"convert a --no-force", "amn convert", `unknown flag --no-force, did you mean "--force"?`},
		{"convert a -fx", "amn convert", "unknown flag -x"},
		{"convert a -f\xff", "amn convert", "unknown flag -\xff"},
		{"convert a --to bf61", "amn convert", `--to: "bf61" is not one of bf16, f16, did you mean "bf16"?`},
		{"convert a -o", "amn convert", "--output: the value is missing"},
		{"convert a -o --to f16", "amn convert", "--output: the value is missing; if it is --to, write --output=--to"},
		{"convert a --limit 1.5", "amn convert", `--limit: "1.5" is not a whole number`},
		{"convert a --limit 99999999999999999999", "amn convert", "--limit: 99999999999999999999 is too large"},
		{"convert a --block-size 1,x", "amn convert", `--block-size: "x" is not a whole number`},
		{"convert a --wait 3", "amn convert", `--wait: "3" is not a duration: write "30s", "5m" or "1h30m"`},
		{"convert a --force=maybe", "amn convert", `--force: "maybe" is neither true nor false`},
		{"convert a -o /", "amn convert", "--output: it is a root"},
		{"copy -o /", "amn copy", "--output: it is a root"},
		{"copy a", "amn copy", "unexpected argument a"},
		{"limits show edge", "amn limits show", `[<profile>]: "edge" is not one of server, strict`},
		{"limits strict server", "amn limits show", "unexpected argument server"},
	} {
		root, _, _, _ := program()
		_, err := root.Parse(strings.Fields(c.line))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", c.line, err)
		} else if e.Error() != c.want || e.Command.Path() != c.of {
			t.Errorf("%s: of %s: %s", c.line, e.Command.Path(), e)
		}
	}
}

// Help is for those who do not yet know what is right.
func TestHelpIsGivenWhateverElseIsWrong(t *testing.T) {
	for line, want := range map[string]string{
		"--help": "amn", "-h": "amn", "convert -h": "amn convert", "convert --bogus --help": "amn convert", "convert --limit x -qh": "amn convert",
		"limits --help": "amn limits", "limits show -h": "amn limits show", "-h limits check": "amn limits check",
	} {
		root, _, _, _ := program()
		if c, err := root.Parse(strings.Fields(line)); !errors.Is(err, ErrHelp) || c.Path() != want {
			t.Errorf("%s: of %s: %v", line, c.Path(), err)
		}
	}
	root, _, _, _ := program()
	if _, err := root.Parse([]string{"convert", "a", "--help=false", "--", "--help"}); err != nil {
		t.Error(err)
	}
}

// What is empty is mostly a variable that a script did not set: a flag that was to ask
// for a check would pass for one that was not given.
func TestWhatIsEmptyIsAnError(t *testing.T) {
	for _, args := range [][]string{
		{"convert", "a", "--to", ""}, {"convert", "a", "--to="}, {"convert", "a", "-o", ""}, {"convert", "a", "--output="}, {"convert", "a", "--tensor", ""},
		{"convert", "a", "--max-total="}, {"convert", "a", "--page="}, {"convert", "a", "--force="}, {"limits", "show", ""},
	} {
		root, _, _, _ := program()
		if _, err := root.Parse(args); err == nil {
			t.Errorf("%q passes", args)
		}
	}
}

func TestTheModelIsThatOfTheFields(t *testing.T) {
	root, _, _, _ := program()
	var flags []string
	for _, f := range root.Find("write").Allowed() {
		flags = append(flags, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Name, f.Group, f.Placeholder)))
	}
	want := []string{"force", "output  PATH", "to", "block-size", "tensor", "limit", "wait", "digest", "page", "help", "quiet", "max-total limits"}
	if diff := cmp.Diff(want, flags); diff != "" {
		t.Error(diff)
	}
	c := root.Find("convert")
	if got := c.Args()[0].Usage() + " " + c.Args()[1].Usage(); got != "<path> [<more> ...]" || c.Detail != "More about it." {
		t.Errorf("%s %s", got, c.Detail)
	}
	if got := c.Flag("--limit").Help; got != "Limit (20)." {
		t.Error(got)
	}
	if got := len(root.Leaves()); got != 3 { // convert, limits show, limits check
		t.Errorf("%d leaves", got)
	}
	if got := root.Words(); !slices.Equal(got, []string{"convert", "write", "limits", "copy"}) {
		t.Error(got)
	}
	for name, want := range map[string]string{"MaxTotal": "max-total", "GGUFType": "gguf-type", "NaN": "na-n", "ID": "id", "X": "x", "OutDtype": "out-dtype"} {
		if got := dashed(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{"convert a -fo x --to f16", "limits strict", "-- convert", "convert --no-digest -- a", "-ho=\xff"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		root, _, to, _ := program()
		c, err := root.Parse(strings.Split(line, " "))
		var e *Error
		switch {
		case err == nil && c.Name == "convert" && to.To != "" && to.To != "bf16" && to.To != "f16":
			t.Errorf("--to %q", to.To)
		case err == nil && len(c.Commands()) > 0:
			t.Errorf("%s runs", c.Path())
		case err != nil && !errors.Is(err, ErrHelp) && !errors.As(err, &e):
			t.Errorf("%T: %v", err, err)
		}
	})
}
