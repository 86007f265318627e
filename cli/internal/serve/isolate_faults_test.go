//go:build linux && !race

package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/serve"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/effort"
)

// A killing counts the points of judgements in children, and kills the child at one of them.
type killing struct {
	mu     sync.Mutex
	points []string
	at     int // or -1
	killed int // the process
}

func (k *killing) point(class string, child *os.Process) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.points) == k.at && child != nil {
		k.killed = child.Pid
		_ = child.Kill()
	}
	k.points = append(k.points, class)
}

// TestAChildThatIsKilledAtEveryPoint kills the process that judges a file, with SIGKILL, at each
// point that is found by running it: wherever it reads, asks for a turn, or answers. Its file is
// never accepted without a complete answer, the next file is judged normally, and nothing is left:
// no process, no descriptor, no byte of the account.
func TestAChildThatIsKilledAtEveryPoint(t *testing.T) {
	killedAt(t, &killing{at: -1}, "first.pkl", runsCode, 1) // the runtime keeps descriptors of its own from the first one on
	for _, c := range []struct {
		name, data string
		honest     bool
		least      map[string]int // points that were found when this was written
	}{
		{"honest.safetensors", emptyTensor, true, map[string]int{"read": 2, "turn": 2, "write": 1}},
		{"evil.pkl", runsCode, false, map[string]int{"read": 2, "turn": 4, "write": 1}},
		{"large.pkl", "\x80\x02" + strings.Repeat("]0", 300<<10) + "cos\nsystem\n.", false, map[string]int{"read": 1, "turn": 100, "write": 1}}, // in a file
	} {
		steps := int64(1)
		if len(c.data) > 1<<10 {
			steps = 4 << 10
		}
		free := &killing{at: -1}
		if accepted, left, err := killedAt(t, free, c.name, c.data, steps); err != nil || accepted != c.honest || left != "" {
			t.Fatalf("%s without a fault: accepted %v, %v; left %s", c.name, accepted, err, left)
		}
		found := map[string]int{}
		for _, class := range free.points {
			found[class]++
		}
		for class, n := range c.least {
			if found[class] < n {
				t.Errorf("%s: %d points of %q, where there were %d", c.name, found[class], class, n)
			}
		}
		killed, stride := 0, max(1, len(free.points)/effort.Of(6, 400))
		for at := 0; at < len(free.points); at += stride {
			k := &killing{at: at}
			accepted, left, err := killedAt(t, k, c.name, c.data, steps)
			if k.killed == 0 {
				continue
			}
			killed++
			switch last := free.points[at] == "write"; {
			case accepted && !c.honest:
				t.Errorf("%s, killed at point %d, %s: accepted", c.name, at, free.points[at])
			case err == nil && !last: // at its last point it has said all that it had to say
				t.Errorf("%s, killed at point %d, %s: judged, accepted %v", c.name, at, free.points[at], accepted)
			}
			if left != "" {
				t.Errorf("%s, killed at point %d, %s: left %s", c.name, at, free.points[at], left)
			}
		}
		t.Logf("%s: %d points %v, killed at %d", c.name, len(free.points), found, killed)
		if killed < min(4, len(free.points)) {
			t.Errorf("%s: killed at %d points only", c.name, killed)
		}
	}
}

// killedAt judges a file in a child, then another one, and says what is left of both.
func killedAt(t *testing.T, k *killing, name, data string, steps int64) (accepted bool, left string, err error) {
	t.Helper()
	began, opened := runtime.NumGoroutine(), openDescriptors(t)
	o := host.Options{Slots: 1, Dir: t.TempDir()}
	undo := serve.InChildren(&o, steps, k.point)
	defer undo()
	h, err := host.New(o)
	if err != nil {
		t.Fatal(err)
	}
	judge := func(tenant, name, data string) (bool, error) {
		u, err := h.Begin(tenant)
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		u.Name = name
		if err := u.Spool(strings.NewReader(data), int64(len(data))); err != nil {
			t.Fatal(err)
		}
		_, err = u.Judge(t.Context())
		_, ok := u.Acceptance()
		return ok, err
	}
	accepted, err = judge("a", name, data)
	k.mu.Lock()
	k.at = -1
	points := k.points
	k.mu.Unlock()
	if ok, err := judge("b", "m.safetensors", emptyTensor); err != nil || !ok {
		left += " no judgement of the next file: " + text(err)
	}
	k.points = points
	if l := h.Load(); l != (host.Load{}) {
		left += " a load"
	}
	h.Close()
	if k.killed != 0 {
		if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(k.killed))); err == nil {
			left += " a process"
		}
	}
	g, d := 0, 0
	for range 500 { // what ends by itself
		if g, d = runtime.NumGoroutine()-began, openDescriptors(t)-opened; g <= 0 && d <= 0 {
			return accepted, left, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return accepted, fmt.Sprintf("%s %d goroutines, %d descriptors", left, g, d), err
}

func text(err error) string {
	if err == nil {
		return "refused"
	}
	return err.Error()
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
