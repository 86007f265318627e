package serve

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The service waits for the helper only for a while, and then tells it to end.
func TestAHelperThatDoesNotAnswerFailsEachReload(t *testing.T) {
	asked, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	out, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer answers.Close()
	if err := out.SetReadDeadline(time.Time{}); err != nil {
		t.Skip("no deadlines of pipes here: ", err)
	}
	r := &reread{files: []string{"policy.json"}, in: in, pipe: out, out: json.NewDecoder(out), wait: 10 * time.Millisecond}
	for range 2 {
		if _, err := r.all(); err == nil || !strings.Contains(err.Error(), "restart the service") {
			t.Errorf("%v", err)
		}
	}
	if got, err := io.ReadAll(asked); err != nil || len(got) != 1 {
		t.Errorf("it was told %q, %v, and not to end", got, err)
	}
}

// A file whose reading does not end fails the reload and no later one, and is not read by a
// second reader meanwhile.
func TestAReadThatHangsFailsOneReload(t *testing.T) {
	hold, stuck := make(chan struct{}), atomic.Int64{}
	p := newPending([]string{"stuck", "good"})
	p.wait = 10 * time.Millisecond
	p.read = func(name string) ([]byte, error) {
		if name == "stuck" {
			stuck.Add(1)
			<-hold
		}
		return []byte(name), nil
	}
	if got := p.readAll(); !strings.Contains(got[0].Error, "stuck: reading it took more than 10ms") {
		t.Errorf("%+v", got)
	}
	if got := p.readAll(); !strings.Contains(got[0].Error, "stuck: an earlier reading") {
		t.Errorf("%+v", got)
	}
	close(hold)
	p.wait = time.Minute
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		got := p.readAll()
		if got[0].Error == "" && got[1].Error == "" && string(got[0].Data) == "stuck" && string(got[1].Data) == "good" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%+v", got)
		}
	}
	if n := stuck.Load(); n != 2 {
		t.Errorf("the file was read %d times, not once and once more when that had ended", n)
	}
}
