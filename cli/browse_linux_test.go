package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A terminal is one that a program of this test runs in.
type terminal struct {
	t   *testing.T
	pty *os.File
	cmd *exec.Cmd

	mu   sync.Mutex
	text string // that was printed since the last key
}

// inTerminal starts the program in a terminal of a size.
func inTerminal(t *testing.T, columns, lines uint16, dir string, env []string, args ...string) *terminal {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	number, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer tty.Close()
	x := &terminal{t: t, pty: pty, cmd: process(t, args...)}
	x.resize(columns, lines)
	x.cmd.Dir, x.cmd.Env = dir, append(append(x.cmd.Env, "TERM=xterm-256color", "NO_COLOR="), env...)
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = tty, tty, tty
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p := make([]byte, 4096)
		for {
			n, err := pty.Read(p)
			x.mu.Lock()
			x.text += string(p[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		_ = x.cmd.Wait()
		pty.Close()
	})
	return x
}

func (x *terminal) resize(columns, lines uint16) {
	x.t.Helper()
	if err := unix.IoctlSetWinsize(int(x.pty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: lines}); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) printed() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.text
}

// press sends keys; what was printed before them is forgotten.
func (x *terminal) press(keys string) {
	x.t.Helper()
	x.mu.Lock()
	x.text = ""
	x.mu.Unlock()
	if _, err := x.pty.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// until waits for texts on the screen.
func (x *terminal) until(texts ...string) {
	x.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		all, missing := x.printed(), 0
		for _, text := range texts {
			if !strings.Contains(all, text) {
				missing++
			}
		}
		if missing == 0 {
			return
		}
	}
	x.t.Fatalf("never %q; the terminal has %q", texts, x.printed())
}

// ends waits for the program, whose terminal is as it was.
func (x *terminal) ends(code int) {
	x.t.Helper()
	if got := exitCode(x.t, x.cmd.Wait()); got != code {
		x.t.Errorf("exit %d, want %d: %q", got, code, x.printed())
	}
	x.until("\x1b[?25h\x1b[?1049l")
	mode, err := unix.IoctlGetTermios(int(x.pty.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	if mode.Lflag&(unix.ECHO|unix.ICANON|unix.ISIG) != unix.ECHO|unix.ICANON|unix.ISIG {
		x.t.Errorf("the terminal is left raw: %#x", mode.Lflag)
	}
}

func TestViewInATerminal(t *testing.T) {
	x := inTerminal(t, 100, 30, workplace(t), nil, "view", "model.safetensors")
	x.until("Tensors 24", "Module", "1/4")
	x.press("tg")
	x.until("position_ids", "1/24")
	x.press("\x1b[B\x1b[B\r")
	x.until("layers.0.attn.out_proj.bias", "Shape:       [16]", "First numbers", "mean:")
	x.press("\x1b")
	x.until("3/24")
	x.press("/up.w")
	x.until("2 found", "layers.0.up.weight")
	x.press("\r")
	x.until("1/2 /up.w")
	x.resize(50, 10)
	x.until("layers.1.up.weight") // drawn anew
	x.press("2")
	x.until("format", `"pt"`)
	x.press("v")
	x.until("A scan accepts it")
	x.press("q")
	x.ends(0)
}

// A file that is refused is shown with what refuses it, and ends as inspect does.
func TestViewOfARefusedFile(t *testing.T) {
	dir := workplace(t)
	write(t, filepath.Join(dir, "evil.pkl"), runsCode)
	x := inTerminal(t, 100, 24, dir, nil, "view", "evil.pkl")
	x.until("A scan refuses it", "refused")
	x.press("5")
	x.until("dangerous")
	x.press("q")
	x.ends(7)
}

func TestViewEndsWithItsTerminalAsItWas(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*terminal)
		code int
	}{
		{"Ctrl-C", func(x *terminal) { x.press("\x03") }, 0},
		{"SIGTERM", func(x *terminal) { _ = x.cmd.Process.Signal(syscall.SIGTERM) }, 143},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := inTerminal(t, 80, 24, workplace(t), nil, "view", "tiny.gguf")
			x.until("Metadata", "1/")
			c.end(x)
			x.ends(c.code)
		})
	}
}

func TestViewWithoutColours(t *testing.T) {
	dir := workplace(t)
	write(t, filepath.Join(dir, "evil.pkl"), runsCode)
	for env, coloured := range map[string]bool{"NO_COLOR=1": false, "NO_COLOR=": true} {
		x := inTerminal(t, 100, 24, dir, []string{env}, "view", "evil.pkl")
		x.until("A scan refuses it", "is dangerous: called")
		if got := strings.Contains(x.printed(), "\x1b[31m"); got != coloured {
			t.Errorf("%s: coloured %v: %q", env, got, x.printed())
		}
		x.press("q")
		x.ends(7)
	}
	x := inTerminal(t, 100, 24, dir, []string{"TERM=dumb"}, "view", "model.safetensors")
	if got := exitCode(t, x.cmd.Wait()); got != 2 {
		t.Errorf("TERM=dumb: exit %d", got)
	}
}

// A folder of several models is not looked into at random: it says which there are.
func TestViewOffersTheModelsOfAFolder(t *testing.T) {
	dir := workplace(t)
	for i := range 25 {
		copyFile(t, filepath.Join(dir, "many", fmt.Sprintf("%02d.gguf", i)), filepath.Join(demo, "tiny.gguf"))
	}
	copyFile(t, filepath.Join(dir, "two", "a.safetensors"), filepath.Join(demo, "model.safetensors"))
	copyFile(t, filepath.Join(dir, "two", "b.gguf"), filepath.Join(demo, "tiny.gguf"))
	for folder, want := range map[string][]string{
		"two":  {"two contains several models: name one", "two/a.safetensors", "two/b.gguf"},
		"many": {"many contains several models: name one", "many/00.gguf", "many/19.gguf", "and more (amn inspect lists all)"},
	} {
		x := inTerminal(t, 100, 24, dir, nil, "view", folder)
		x.until(want...)
		if got := exitCode(t, x.cmd.Wait()); got != 2 {
			t.Errorf("%s: exit %d", folder, got)
		}
		if strings.Contains(x.printed(), "20.gguf") {
			t.Errorf("%s: more than 20 are listed", folder)
		}
	}
}
