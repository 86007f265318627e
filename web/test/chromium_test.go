package test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A browser is Chromium without a window, driven by the DevTools protocol over a pipe.
type browser struct {
	t       *testing.T
	in      io.WriteCloser
	out     chan message
	next    int
	session string
	// said are errors and violations of the page's policy; asked are addresses that
	// it requested.
	said, asked []string
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// patience is how long the browser may say nothing at all: a machine that is busy with
// other work is slow, not wrong. What a test waits for is a state of the page.
const patience = 5 * time.Minute

func chromium(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("NOT RUN: no Chromium is here (apt-get install chromium)")
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows", "--disable-background-timer-throttling",
		"--disable-hang-monitor", "--remote-debugging-pipe", "--window-size=1280,900", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{t: t, in: in, out: make(chan message, 1000)}
	go func() {
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			text, err := r.ReadBytes(0)
			if err != nil {
				close(b.out)
				return
			}
			var m message
			if json.Unmarshal(text[:len(text)-1], &m) == nil {
				b.out <- m
			}
		}
	}()
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
		out.Close()
		for k := 0; os.RemoveAll(profile) != nil; k++ { // its other processes still write
			if k == 100 {
				t.Errorf("%s is left", profile)
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	var target struct{ TargetID string }
	b.into(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	var attached struct{ SessionID string }
	b.into(&attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network", "DOM"} {
		b.call(domain+".enable", map[string]any{})
	}
	// A key that goes to a page without the focus is answered when it gets one: never.
	b.call("Page.bringToFront", map[string]any{})
	b.call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true})
	return b
}

// call sends a command and waits for its result; events on the way are noted.
func (b *browser) call(method string, params map[string]any) json.RawMessage {
	b.t.Helper()
	b.next++
	text, err := json.Marshal(map[string]any{"id": b.next, "method": method, "params": params, "sessionId": b.session})
	if err != nil {
		b.t.Fatal(err)
	}
	if b.session == "" {
		text, _ = json.Marshal(map[string]any{"id": b.next, "method": method, "params": params})
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	late := time.After(patience)
	for {
		select {
		case <-late:
			b.t.Fatalf("%s: no answer", method)
		case m, ok := <-b.out:
			if !ok {
				b.t.Fatalf("%s: the browser ended", method)
			}
			if m.ID != b.next {
				b.note(m)
				continue
			}
			if m.Error != nil {
				b.t.Fatalf("%s: %s", method, m.Error.Message)
			}
			return m.Result
		}
	}
}

func (b *browser) into(v any, method string, params map[string]any) {
	b.t.Helper()
	if err := json.Unmarshal(b.call(method, params), v); err != nil {
		b.t.Fatal(err)
	}
}

// note keeps what a page should not do.
func (b *browser) note(m message) {
	switch m.Method {
	case "Runtime.exceptionThrown":
		b.said = append(b.said, string(m.Params))
	case "Runtime.consoleAPICalled", "Log.entryAdded":
		b.said = append(b.said, string(m.Params))
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if json.Unmarshal(m.Params, &p) == nil {
			b.asked = append(b.asked, p.Request.URL)
		}
	}
}

// open loads a page.
func (b *browser) open(url string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": url})
	b.until("document.readyState === 'complete'")
}

// eval is what an expression comes to, as JSON text decoded into v.
func (b *browser) eval(v any, expression string) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Text string }
	}
	b.into(&r, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails.Text)
	}
	if v != nil {
		if err := json.Unmarshal(r.Result.Value, v); err != nil {
			b.t.Fatalf("%s: %v: %s", expression, err, r.Result.Value)
		}
	}
}

func (b *browser) text(expression string) (s string) {
	b.t.Helper()
	b.eval(&s, expression)
	return s
}

// until waits for an expression to be true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var ok bool
		if b.eval(&ok, "!!("+expression+")"); ok {
			return
		}
	}
	b.t.Fatalf("never: %s; the page says %q; %v", expression, b.text("document.body.innerText"), b.said)
}

// drop gives a file to the page's input, and waits until it is read.
func (b *browser) drop(path string) {
	b.t.Helper()
	b.choose(path)
	b.until("/^Read .* in |could not read/.test(document.getElementById('status').textContent)")
}

// choose gives a file to the page's input.
func (b *browser) choose(path string) {
	b.t.Helper()
	var r struct{ Result struct{ ObjectID string } }
	b.into(&r, "Runtime.evaluate", map[string]any{"expression": "document.getElementById('file')"})
	path, _ = filepath.Abs(path)
	b.call("DOM.setFileInputFiles", map[string]any{"files": []string{path}, "objectId": r.Result.ObjectID})
}

// shot keeps a picture where PICTURES says.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("PICTURES")
	if dir == "" {
		return
	}
	b.save(filepath.Join(dir, name+".png"), map[string]any{"captureBeyondViewport": true})
}

// save writes a picture of the page.
func (b *browser) save(path string, params map[string]any) {
	b.t.Helper()
	var r struct{ Data string }
	b.into(&r, "Page.captureScreenshot", params)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// quiet fails if the page complained, or asked for anything of a network.
func (b *browser) quiet() { b.quietBut("file:") }

// quietBut lets it ask for addresses that begin as home does.
func (b *browser) quietBut(home string) {
	b.t.Helper()
	for _, s := range b.said {
		b.t.Errorf("the page says %s", s)
	}
	for _, url := range b.asked {
		if !strings.HasPrefix(url, home) && !strings.HasPrefix(url, "blob:") && !strings.HasPrefix(url, "data:") && url != "about:blank" {
			b.t.Errorf("the page asks for %s", url)
		}
	}
}

func fileURL(path string) string {
	path, _ = filepath.Abs(path)
	return fmt.Sprintf("file://%s", filepath.ToSlash(path))
}
