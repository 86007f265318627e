package fuzz_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A keptFile is a file with the policy under which it is read.
type keptFile struct {
	path, name string
	data       []byte
	policy     limits.Policy
}

// eachFile gives each recipe and each honest file of the corpus that this run takes.
func eachFile(t *testing.T, do func(t *testing.T, f keptFile)) {
	t.Helper()
	number := 0
	give := func(path, name string, data []byte, text []byte) {
		number++
		if !taken(number) || len(data) > corpus.MaxSeed {
			return
		}
		f := keptFile{path: path, name: name, data: data}
		if text != nil {
			p, err := limits.ParsePolicy(text)
			if err != nil {
				t.Fatal(err)
			}
			f.policy = p
		}
		f.policy.Timeout = limits.NoTimeout
		do(t, f)
	}
	folders, err := fs.ReadDir(os.DirFS("../corpus"), "hostile")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range folders {
		for _, r := range corpus.Hostile(d.Name()) {
			give(r.Path(), "file."+d.Name(), r.Bytes(), r.Policy)
		}
		for _, s := range corpus.Valid(d.Name()) {
			var policy []byte
			if s.Recipe != nil {
				policy = s.Recipe.Policy
			}
			give(d.Name()+"/"+s.Name, "file."+d.Name(), s.Data, policy)
		}
	}
	for _, r := range corpus.Gate() {
		if !r.Folder {
			give(r.Path(), r.File, r.Bytes(), nil)
		}
	}
	if number < 1000 {
		t.Errorf("only %d files", number)
	}
}

// returned fails the test if the account holds anything.
func returned(t *testing.T, f keptFile, what string, host *limits.Budget) {
	t.Helper()
	before := t.Failed()
	limitstest.NoLeak(t, host)
	if t.Failed() && !before {
		t.Errorf("this is left by %s of %s", what, f.path)
	}
}

// A host that keeps one account for all files does not run dry: what a model held comes back
// when it is closed, and a refused one leaves nothing. Steps and ratios are spent.
func TestAModelReturnsWhatItHeldWhenItIsClosed(t *testing.T) {
	opened := 0
	eachFile(t, func(t *testing.T, f keptFile) {
		host := f.policy.Budget(t.Context())
		defer host.Close()
		for what, open := range map[string]func() (tensor.Model, error){
			"Decode": func() (tensor.Model, error) { return parser.Decode(host, bytes.NewReader(f.data), int64(len(f.data))) },
			"OpenFS": func() (tensor.Model, error) {
				return parser.OpenFS(host, fstest.MapFS{f.name: {Data: f.data}, "config.json": {Data: []byte("{}")}}, f.name)
			},
			"OpenFS of the folder": func() (tensor.Model, error) {
				return parser.OpenFS(host, fstest.MapFS{f.name: {Data: f.data}, "config.json": {Data: []byte("{}")}}, ".")
			},
		} {
			m, err := open()
			if err != nil {
				returned(t, f, "a refused "+what, host)
				continue
			}
			opened++
			parser.Verify(host, m)
			if limitstest.Used(host, limits.Total) == 0 && m.Len() > 0 {
				t.Errorf("%s of %s: an open model holds nothing", what, f.path)
			}
			if p, ok := m.(tensor.Placer); ok {
				p.Note(host, tensor.Finding{}) // an unknown one is refused, and charged nothing
			}
			m.Close()
			m.Close()
			returned(t, f, what, host)
			parser.Verify(host, m)
			returned(t, f, "a verification after Close", host)
		}
	})
	if opened < 50 {
		t.Errorf("only %d files were opened", opened)
	}
}

// The same of the judgement of a file, whole and while it arrives.
func TestAVerdictReturnsWhatItHeldWhenItIsClosed(t *testing.T) {
	number := 0
	eachFile(t, func(t *testing.T, f keptFile) {
		if number++; number%3 != 0 && !effort.Race && !taken(0) {
			return
		}
		host := f.policy.Budget(t.Context())
		defer host.Close()
		g := gate.Gate{Policy: gate.Policy{Limits: f.policy}}
		v, err := g.Check(host, bytes.NewReader(f.data), int64(len(f.data)), gate.Hint{Name: f.name, Beside: true})
		if err != nil {
			t.Fatal(err)
		}
		v.Close()
		v.Close()
		returned(t, f, "Check", host)
		for _, sized := range []int64{int64(len(f.data)), -1} {
			s := g.Stream(host, sized, gate.Hint{Name: f.name})
			for rest := f.data; len(rest) > 0; {
				n := min(len(rest), 1000)
				if _, err := s.Write(rest[:n]); err != nil {
					break
				}
				rest = rest[n:]
			}
			s.Close()
			s.Close()
			returned(t, f, "Stream", host)
		}
	})
}

// The same of a conversion, done, refused and cut off by its writer.
func TestAConversionReturnsWhatItHeld(t *testing.T) {
	dir := t.TempDir()
	written := 0
	eachFile(t, func(t *testing.T, f keptFile) {
		host := f.policy.Budget(t.Context())
		defer host.Close()
		m, err := parser.Decode(host, bytes.NewReader(f.data), int64(len(f.data)))
		if err != nil {
			return
		}
		for _, sink := range []convert.Sink{convert.Safetensors{}, convert.GGUF{}, convert.NPZ{}} {
			plan, err := convert.NewPlan(host, m, convert.Options{Sink: sink, NoSync: true})
			if err != nil {
				continue
			}
			if _, err := plan.Write(filepath.Join(dir, "out"), true); err == nil {
				written++
			}
			plan.Close()
			plan.Close()
		}
		m.Close()
		returned(t, f, "a conversion", host)
	})
	if written < 20 {
		t.Errorf("only %d files were written", written)
	}
}

// Every entry point refuses a missing account with a message.
func TestNothingIsReadWithoutAnAccount(t *testing.T) {
	seed := corpus.Valid("safetensors")[0].Data
	r, size := bytes.NewReader(seed), int64(len(seed))
	live := limits.Policy{}.Budget(t.Context())
	defer live.Close()
	m, err := parser.Decode(live, r, size)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	closed := limits.Policy{}.Budget(t.Context())
	closed.Close()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	cancelled := limits.Policy{}.Budget(gone)
	defer cancelled.Close()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := os.WriteFile(path, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*limits.Budget{"nil": nil, "zero": new(limits.Budget), "closed": closed, "cancelled": cancelled} {
		want := b.Err()
		ask := func(what string, f func() error) {
			if err := f(); err == nil || !errors.Is(err, want) {
				t.Errorf("%s under a %s account: %v", what, name, err)
			}
		}
		ask("Decode", func() error { _, err := parser.Decode(b, r, size); return err })
		ask("Open", func() error { _, err := parser.Open(b, path); return err })
		ask("OpenFS", func() error {
			_, err := parser.OpenFS(b, os.DirFS(filepath.Dir(path)), "model.safetensors")
			return err
		})
		ask("OpenWeights", func() error { _, err := parser.OpenWeights(b, filepath.Dir(path), "model.safetensors"); return err })
		ask("Verify", func() error { return parser.Verify(b, m) })
		ask("a body", func() error {
			for i := range m.Tensors() {
				body, err := m.Body(b, i)
				if err == nil {
					_, err = io.Copy(io.Discard, body)
				}
				return err
			}
			return nil
		})
		ask("NewPlan", func() error { _, err := convert.NewPlan(b, m, convert.Options{}); return err })
		ask("Check", func() error {
			v, err := gate.Check(b, r, size, gate.Hint{Name: "model.safetensors"})
			if err != nil {
				return err
			}
			defer v.Close()
			return v.Err
		})
		ask("Stream", func() error {
			s := new(gate.Gate).Stream(b, size, gate.Hint{Name: "model.safetensors"})
			defer s.Close()
			if _, err := s.Write(seed); err != nil {
				return err
			}
			return b.Err() // it refuses nothing early, and accepts nothing at all
		})
	}
}

// spread gives n of the files, from the first to the last, or all if there are fewer.
func spread(files []keptFile, n int) []keptFile {
	if len(files) <= n {
		return files
	}
	var out []keptFile
	for i := range n {
		out = append(out, files[i*len(files)/n])
	}
	return out
}

// Sixteen goroutines read, judge and convert files of the corpus on one account of a host,
// and close what they got once, twice, or before the end of its use; nothing is left.
func TestSixteenGoroutinesShareOneAccount(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{MaxSteps: 1 << 40, MaxInflateRatio: 1 << 30, MaxExpandRatio: 1 << 30, Timeout: limits.NoTimeout})
	var open, refused []keptFile
	eachFile(t, func(_ *testing.T, f keptFile) {
		if len(f.data) > 16<<10 {
			return
		}
		m, err := parser.Decode(limitstest.Open(t, limits.Policy{}), bytes.NewReader(f.data), int64(len(f.data)))
		if err != nil {
			refused = append(refused, f)
			return
		}
		m.Close()
		open = append(open, f)
	})
	files := append(spread(open, effort.Of(48, 1000)), spread(refused, effort.Of(48, 1000))...)
	dir := t.TempDir()
	var group sync.WaitGroup
	var opened, judged, written atomic.Int64
	for worker := range 16 {
		group.Go(func() {
			out := filepath.Join(dir, strconv.Itoa(worker))
			for i := range files {
				f := &files[(i+worker*7)%len(files)]
				r, size := bytes.NewReader(f.data), int64(len(f.data))
				b := host
				if i%2 == 0 { // the way that the documents show
					b = host.Child(limits.Policy{MaxTotalBytes: 64 << 20})
				}
				if m, err := parser.Decode(b, r, size); err == nil {
					opened.Add(1)
					var readers sync.WaitGroup
					readers.Go(func() { parser.Verify(b, m) })
					if plan, err := convert.NewPlan(b, m, convert.Options{NoSync: true, Threads: 1}); err == nil {
						if _, err := plan.Write(out, true); err == nil {
							written.Add(1)
						}
						plan.Close()
					}
					if i%3 > 0 {
						readers.Wait()
					}
					m.Close()
					m.Close()
					readers.Wait()
				}
				v, err := new(gate.Gate).Check(b, r, size, gate.Hint{Name: f.name})
				if err != nil {
					t.Error(f.path, err)
				} else {
					judged.Add(1)
					v.Close()
				}
				s := new(gate.Gate).Stream(b, size, gate.Hint{Name: f.name})
				s.Write(f.data[:len(f.data)/2])
				s.Close()
				if b != host {
					b.Close()
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d opened, %d judged, %d written", opened.Load(), judged.Load(), written.Load())
	if opened.Load() < 50 || written.Load() < 20 {
		t.Errorf("%d opened, %d written", opened.Load(), written.Load())
	}
}
