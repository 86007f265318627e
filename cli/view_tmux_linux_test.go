package cli_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/browse"
	"github.com/anamnesis-go/anamnesis/internal/width"
)

// A session is a program in a window of tmux, which interprets what it prints as terminals do.
type session struct {
	t      *testing.T
	socket string
}

// inTmux starts the program in a window of a size.
func inTmux(t *testing.T, columns, lines int, dir string, args ...string) *session {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	cmd := process(t, args...)
	x := &session{t, filepath.Join(t.TempDir(), "tmux")}
	command := append([]string{"-f", "/dev/null", "-S", x.socket, "new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(lines), "-c", dir, "--", "env"}, cmd.Env...)
	command = append(append(command, "NO_COLOR=", "TERM=screen-256color", cmd.Path), cmd.Args[1:]...)
	run := exec.Command("tmux", command...)
	run.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", x.socket, "kill-server").Run() })
	return x
}

func (x *session) tmux(args ...string) string {
	x.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", x.socket}, args...)...).CombinedOutput()
	if err != nil {
		return "" // the program has ended, and its window with it
	}
	return string(out)
}

// screen returns what the window shows.
func (x *session) screen() string { return x.tmux("capture-pane", "-p") }

// until waits for a screen.
func (x *session) until(what string, holds func(screen string) bool) {
	x.t.Helper()
	last := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		if last = x.screen(); holds(last) {
			return
		}
	}
	x.t.Fatalf("never %s:\n%s", what, last)
}

// shows waits for all texts; one that begins with "!" must be away.
func (x *session) shows(texts ...string) {
	x.t.Helper()
	x.until(fmt.Sprintf("%q", texts), func(screen string) bool {
		for _, text := range texts {
			if rest, not := strings.CutPrefix(text, "!"); strings.Contains(screen, rest) == not {
				return false
			}
		}
		return screen != ""
	})
}

func (x *session) keys(keys ...string) {
	x.t.Helper()
	x.tmux(append([]string{"send-keys"}, keys...)...)
}

// A use is keys of tmux, and what the screen shows after them.
type use struct{ keys, shows []string }

func k(keys ...string) []string { return keys }

// viewKeys are uses of all keys that the help lists, in its words, from the tree of model.safetensors with
// all modules closed. It has 24 tensors: embed.weight, ten of each of layers.0 and layers.1, three more.
var viewKeys = map[string][]use{
	"up, down, j, k": {{k("Down"), k("2/4")}, {k("j"), k("3/4")}, {k("Up"), k("2/4")}, {k("k"), k("1/4")}},
	"space, b, page keys, ., ,": {
		{k("t", "g"), k("\n1/24 ")}, {k("Space"), k("!\n1/24 ")}, {k("b"), k("\n1/24 ")}, {k("."), k("!\n1/24 ")}, {k(","), k("\n1/24 ")},
		{k("NPage"), k("!\n1/24 ")}, {k("PPage"), k("\n1/24 ")}, {k("t", "g"), k("1/4")},
	},
	"g, G, <, >, home, end": {{k("G"), k("4/4")}, {k("g"), k("1/4")}, {k(">"), k("4/4")}, {k("<"), k("1/4")}, {k("End"), k("4/4")}, {k("Home"), k("1/4")}},
	"left, right, h, l":     {{k("g", "Down", "Right"), k("2/6", "▾ layers")}, {k("l"), k("3/6")}, {k("h"), k("2/6")}, {k("Left"), k("2/4", "▸ layers")}},
	"enter":                 {{k("Enter"), k("2/6", "▾ layers")}, {k("Enter"), k("2/4")}, {k("Up", "Enter"), k("Shape:       [96, 16]", "esc")}, {k("Escape"), k("1/4")}},
	"=, -":                  {{k("="), k("▾ layers", "▾ 0")}, {k("-"), k("▸ layers", "1/4")}},
	"`, t":                  {{k("`"), k("/24")}, {k("`"), k("1/4")}, {k("t"), k("/24")}, {k("t"), k("1/4")}},
	"tab, [, ], 1 to 9":     {{k("Tab"), k("format")}, {k("["), k("embed.weight")}, {k("]"), k("format")}, {k("3"), k("v judges")}, {k("BTab"), k("format")}, {k("1"), k("1/4")}},
	"J, K":                  {{k("g"), k("Type:", "J, K scroll")}, {k("J"), k("!Type:")}, {k("K"), k("Type:")}},
	"/":                     {{k("/", "u", "p", ".", "w"), k("found; enter")}, {k("Enter"), k("/up.w")}, {k("Escape"), k("1/4")}},
	"esc":                   {{k("/", "n", "o", "r", "m", "Enter"), k("/norm")}, {k("Escape"), k("1/4", "!/norm")}},
	"s, r":                  {{k("t", "s"), k("Name ▲")}, {k("r"), k("Name ▼")}, {k("t", "s"), k("▸ layers", "Size ▼")}, {k("s", "-"), k("!Size ▼")}, {k("g"), k("1/4")}},
	"m":                     {{k("m"), k("1 marked", "●  embed")}, {k("m"), k("21 marked", "●▸ layers")}, {k("g", "m"), k("20 marked")}, {k("m", "g"), k("!marked", "1/4")}},
	"'":                     {{k("G", "m", "g", "m", "'"), k("4/4")}, {k("'"), k("1/4")}, {k("u"), k("!marked")}},
	"*":                     {{k("m", "*"), k("1/1", "!layers")}, {k("*"), k("/4", "layers")}, {k("u", "g"), k("1/4", "!marked")}},
	"u":                     {{k("m", "m"), k("21 marked")}, {k("u", "g"), k("1/4", "!marked")}},
	"n, p":                  {{k("t", "g", "Enter"), k("esc back", "position_ids")}, {k("n"), k("layers.0.attn.in_proj_bias")}, {k("p"), k("position_ids")}, {k("Escape"), k("\n1/24 ")}, {k("t", "g"), k("1/4")}},
	"e":                     {{k("j", "e"), k("Select a tensor")}, {k("g"), k("1/4")}}, // and TestASampleAndAllNumbersInTmux
	"c":                     {{k("c"), k("Mark two")}, {k("m", "j", "j", "m", "c"), k("Two tensors", "Second")}, {k("u", "g"), k("1/4", "!marked")}},
	"v":                     {{k("v"), k("accepted")}},
	"mouse":                 nil,                                                              // TestTheMouseInTmux
	"ctrl-l, ctrl-z":        {{k("C-l"), k("1/4", "Module")}, {k("C-z"), k("1/4", "Module")}}, // the only program of a window is not stopped
	"q, ctrl-c":             nil,                                                              // the end of this test
}

// Every key of the help does what the help says, at 40 to 200 columns.
func TestTheKeysOfViewInTmux(t *testing.T) {
	for _, columns := range []int{40, 80, 120, 200} {
		t.Run(strconv.Itoa(columns), func(t *testing.T) {
			t.Parallel()
			x := inTmux(t, columns, 24, workplace(t), "view", "model.safetensors")
			x.shows("1/4", "Module")
			for _, key := range browse.Keys {
				uses, ok := viewKeys[key[0]]
				if !ok {
					t.Errorf("no test presses %s", key[0])
				}
				for _, u := range uses {
					x.keys(u.keys...)
					x.shows(u.shows...)
					for line := range strings.Lines(x.screen()) {
						if n := width.Of(strings.TrimSuffix(line, "\n")); n > columns {
							t.Errorf("%v: %d columns: %q", u.keys, n, line)
						}
					}
				}
			}
			x.keys("?")
			x.shows("Keys", browse.Keys[0][0])
			help := ""
			x.until("the end of the help", func(screen string) bool {
				if help += screen; strings.Contains(screen, "ctrl-c") {
					return true
				}
				x.keys("j")
				return false
			})
			for _, key := range browse.Keys {
				if !strings.Contains(help, key[0]) {
					t.Errorf("the help does not list %s", key[0])
				}
			}
			x.keys("q")
			x.shows("1/4")
			x.keys(map[bool]string{false: "q", true: "C-c"}[columns == 80])
			x.until("its end", func(screen string) bool { return screen == "" })
		})
	}
}

var screenOf = regexp.MustCompile("(?s)<!-- screen ([0-9]+)x([0-9]+): amn (view [^;>]*)(?:; keys ([^>]*))? -->\n```text\n(.*?)```\n")

// The screens of docs/view.md are what tmux shows; -update writes them.
func TestTheScreensOfTheDocsInTmux(t *testing.T) {
	const path = "../docs/view.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir, screens := workplace(t), 0
	made := screenOf.ReplaceAllStringFunc(string(page), func(block string) string {
		part := screenOf.FindStringSubmatch(block)
		columns, _ := strconv.Atoi(part[1])
		lines, _ := strconv.Atoi(part[2])
		x := inTmux(t, columns, lines, dir, strings.Fields(part[3])...)
		x.shows("? help")
		for _, key := range strings.Fields(part[4]) {
			x.keys(key)
		}
		last := ""
		for same := 0; same < 20; time.Sleep(50 * time.Millisecond) { // until nothing is read any more
			if screen := x.screen(); screen == last && !strings.Contains(screen, "reading") {
				same++
			} else {
				last, same = screen, 0
			}
		}
		x.keys("q", "q")
		screens++
		head, _, _ := strings.Cut(block, "```text\n")
		var text strings.Builder
		for line := range strings.Lines(last) {
			text.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
		return head + "```text\n" + strings.TrimRight(text.String(), "\n") + "\n```\n"
	})
	if screens == 0 {
		t.Error("the page has no screens")
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(made), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(page), made); diff != "" {
		t.Errorf("go test ./cli -run ScreensOfTheDocs -update writes it:\n%s", diff)
	}
}

// clicks sends presses of the left button, as terminals of the encoding 1006 do.
func (x *session) clicks(column, line int) {
	x.keys("-l", fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", column, line, column, line))
}

func TestTheMouseInTmux(t *testing.T) {
	t.Parallel()
	x := inTmux(t, 100, 24, workplace(t), "view", "model.safetensors")
	x.shows("1/4", "Module")
	if flags := x.tmux("display-message", "-p", "#{mouse_standard_flag}#{mouse_sgr_flag}"); flags != "11\n" {
		t.Errorf("the program asks tmux for the mouse: %q", flags)
	}
	x.clicks(4, 5) // the second row
	x.shows("2/4")
	x.clicks(4, 5)
	x.shows("▾ layers")
	x.keys("-l", "\x1b[<65;5;5M")
	x.shows("5/6")
	x.clicks(15, 2)
	x.shows("format", "1/1")
	x.keys("C-c")
	x.until("its end", func(screen string) bool { return screen == "" })
}

// A tensor shows what is stored beside what it decodes to; two models show what differs.
func TestStoredBesideDecodedInTmux(t *testing.T) {
	t.Parallel()
	x := inTmux(t, 120, 40, workplace(t), "view", "llama-fp8")
	x.shows("lm_head")
	x.keys("/", "0.mlp.up_proj", "Enter", "G", "Up", "Enter")
	x.shows("Scheme:      FP8", "Stored", "Decoded", "F8_E4M3", "histogram", "2^")
	x.keys("G")
	x.shows("Heat map", "Largest")
	x.keys("q")
}

// A large tensor is sampled; e reads all of it.
func TestASampleAndAllNumbersInTmux(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const rows, columns = 3000, 1024
	header := fmt.Sprintf(`{"w":{"dtype":"U8","shape":[%d,%d],"data_offsets":[0,%d]}}`, rows, columns, rows*columns)
	header += strings.Repeat(" ", (8-len(header)%8)%8)
	write(t, filepath.Join(dir, "large.safetensors"), string([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0})+header+strings.Repeat("\x03", rows*columns))
	x := inTmux(t, 80, 24, dir, "view", "large.safetensors")
	x.shows("read:     a sample of 1.05M")
	x.keys("e")
	x.shows("read:     all 3.07M")
	x.keys("q")
}

func TestTwoModelsInTmux(t *testing.T) {
	t.Parallel()
	x := inTmux(t, 120, 30, workplace(t), "view", "model.safetensors", "checkpoint.pt")
	x.shows("Change", "type", "8 of 20", "First", "Second")
	x.keys("c")
	x.shows("15 equal, 9 differences", "55.4 dB", " equal ")
	x.keys("v")
	x.shows("Of two models none is judged here")
	x.keys("q")
	x.until("its end", func(screen string) bool { return screen == "" })
	y := inTmux(t, 80, 24, workplace(t), "view", "model.safetensors", "tiny.gguf")
	y.shows("only first", "only second")
	y.keys("c")
	y.shows("0 equal, 28 differences")
	y.keys("q")
}

// Names of a file are text in every terminal: what they ask it to do is shown, not done.
func TestHostileNamesInTmux(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := []string{
		"a\x1b[2J.\x1b]0;owned\x07", "b\u009b31m.\r\n\b", "\u202ec.\u200b.evil", "e\u0301" + strings.Repeat("\u0301", 50), strings.Repeat("日本.", 40), "", "..", "/", "d", "d.e", "d.e.",
		strings.Repeat("f.", 10_000) + "g",
	}
	header, at := "{", 0
	for _, name := range names {
		header += fmt.Sprintf("%s:{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]},", jsonText(name), at, at+1)
		at++
	}
	header = strings.TrimSuffix(header, ",") + "}"
	header += strings.Repeat(" ", (8-len(header)%8)%8)
	file := append([]byte{byte(len(header)), byte(len(header) >> 8), byte(len(header) >> 16), 0, 0, 0, 0, 0}, header...)
	write(t, filepath.Join(dir, "evil.safetensors"), string(append(file, make([]byte, at)...)))
	for _, columns := range []int{40, 200} {
		x := inTmux(t, columns, 24, dir, "view", "evil.safetensors")
		x.shows("1/", "Module")
		for _, key := range []string{"=", "G", "g", "Enter", "n", "n", "n", "Escape", "t", "s", "G", "Enter", "G"} {
			x.keys(key)
			time.Sleep(50 * time.Millisecond)
		}
		x.keys("Escape", "g")
		x.shows("1/12", `\u{`)
		if title := x.tmux("display-message", "-p", "#{pane_title}"); strings.Contains(title, "owned") {
			t.Errorf("a name sets the title %q", title)
		}
		for line := range strings.Lines(x.screen()) {
			if n := width.Of(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("%d columns of %d: %q", n, columns, line)
			}
		}
		x.keys("q")
		x.until("its end", func(screen string) bool { return screen == "" })
	}
}
