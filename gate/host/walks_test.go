package host_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// checkFS judges a folder with the file.
func checkFS(t *testing.T, s *script, name, data string, _ int) bool {
	files := badFS{fstest.MapFS{name: {Data: []byte(data), Mode: 0o600}}, s}
	return walked(t, s, name, func(g *gate.Gate, b *limits.Budget) iter.Seq2[*gate.Verdict, error] {
		return g.CheckFS(b, files, ".", "root")
	})
}

// checkPath judges a folder of the system with the file, which may be cut meanwhile.
func checkPath(t *testing.T, s *script, name, data string, _ int) bool {
	path := filepath.Join(spoolDir(t), name)
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	s.do = map[fault]func(){gone: func() { _ = os.Truncate(path, int64(len(data)/2)) }}
	return walked(t, s, name, func(g *gate.Gate, b *limits.Budget) iter.Seq2[*gate.Verdict, error] {
		return g.CheckPath(b, filepath.Dir(path))
	})
}

// walked reports whether a file of a walk is accepted.
func walked(t *testing.T, s *script, name string, walk func(*gate.Gate, *limits.Budget) iter.Seq2[*gate.Verdict, error]) (accepted bool) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if s.do == nil {
		s.do = map[fault]func(){}
	}
	s.do[cancel] = stop
	root := limits.Policy{}.Budget(t.Context())
	b := root.ChildContext(countedContext{ctx, s}, limits.Policy{MaxTotalBytes: s.room})
	b.Meter(func(int64) { s.point("step") })
	g := gate.Gate{Digest: true, Seen: func(*limits.Budget, tensor.Model) error { s.point("seen"); return nil }}
	charging.Store(s)
	func() {
		defer func() {
			if p := recover(); p != nil && p != "a bug" {
				panic(p)
			}
		}()
		for v, err := range walk(&g, b) {
			if err != nil {
				if !errors.Is(err, context.Canceled) && s.what == none {
					t.Error(err)
				}
				continue
			}
			_, ok := v.Acceptance()
			accepted = accepted || ok
		}
	}()
	b.Close()
	given(t, s, name, root)
	return accepted
}

// spoolDir is the folder of spooled files, one for each surface.
func spoolDir(t *testing.T) string {
	t.Helper()
	if dirs[t] == "" {
		dirs[t] = t.TempDir()
	}
	return dirs[t]
}

var dirs = map[*testing.T]string{}

// inChild calls a handler whose files another process judges: its answer comes in pieces,
// and it may be killed before each of them.
func inChild(t *testing.T, s *script, name, data string, piece int) bool {
	s.judge = func(ctx context.Context, g *gate.Gate, r io.ReaderAt, size int64, h gate.Hint) (*gate.Verdict, error) {
		b := g.Policy.Limits.Budget(ctx)
		defer b.Close()
		child := *g
		v, err := child.Check(b, r, size, gate.Hint{Name: h.Name, Promised: h.Promised})
		if err != nil {
			return nil, err
		}
		defer v.Close()
		text, err := v.MarshalJSON()
		if err != nil {
			return nil, err
		}
		for at := 0; at < len(text); at += 8 * piece {
			if s.point("answer") == killed {
				return g.Remote(text[:at], size, h)
			}
		}
		return g.Remote(text, size, h)
	}
	return direct(t, s, name, data, piece)
}

// stream examines an arriving file, and checks it when it is there.
func stream(t *testing.T, s *script, name, data string, piece int) bool {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s.do = map[fault]func(){cancel: stop}
	root := limits.Policy{}.Budget(t.Context())
	b := root.ChildContext(countedContext{ctx, s}, limits.Policy{MaxTotalBytes: s.room})
	g := gate.Gate{Digest: true}
	charging.Store(s)
	st := g.Stream(b, int64(len(data)), gate.Hint{Name: name})
	accepted := false
	ended := false
	for rest := data; len(rest) > 0 && !ended; {
		n := min(piece, len(rest))
		ended = s.point("piece") == halfClose
		if !ended {
			_, err := st.Write([]byte(rest[:n]))
			ended = err != nil
		}
		rest = rest[n:]
	}
	if v := st.Verdict(); v != nil {
		accepted = v.Accepted()
	} else if !ended {
		accepted = check(&g, b, name, data)
	}
	st.Close()
	b.Close()
	given(t, s, name, root)
	return accepted
}

func check(g *gate.Gate, b *limits.Budget, name, data string) bool {
	v, err := g.Check(b, strings.NewReader(data), int64(len(data)), gate.Hint{Name: name})
	if err != nil {
		return false
	}
	defer v.Close()
	_, ok := v.Acceptance()
	return ok
}

// given fails if an account still holds something, and closes it.
func given(t *testing.T, s *script, name string, root *limits.Budget) {
	t.Helper()
	charging.CompareAndSwap(s, nil)
	for _, u := range root.Usage() {
		if u.Used != 0 && (u.Axis == limits.Total || u.Axis == limits.Items) {
			t.Errorf("%s, %s at point %d: %d of %v are held", name, faultNames[s.what], s.at, u.Used, u.Axis)
		}
	}
	root.Close()
}
