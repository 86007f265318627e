package convert_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// A resumable is a conversion whose tasks are of some kind.
type resumable struct {
	source func(t *testing.T, b *limits.Budget) tensor.Model
	o      convert.Options
	folder bool
}

// stackOf is a model of matrices of one size and some vectors, with numbers that are not finite
// if it is hostile.
func stackOf(rows, cols int, hostile bool) func(*testing.T, *limits.Budget) tensor.Model {
	return func(t *testing.T, _ *limits.Budget) tensor.Model {
		matrices, shapes := map[string][]float32{}, map[string][]int64{}
		for _, name := range []string{"model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj", "model.layers.0.self_attn.v_proj", "model.layers.0.mlp.down_proj"} {
			numbers := converttest.Wave(rows * cols)
			if hostile {
				numbers[7], numbers[len(numbers)/2], numbers[len(numbers)-3] = float32(math.NaN()), float32(math.Inf(1)), 1e38
			}
			matrices[name+".weight"], shapes[name+".weight"] = numbers, []int64{int64(rows), int64(cols)}
		}
		matrices["model.norm.weight"], shapes["model.norm.weight"] = converttest.Wave(cols), []int64{int64(cols)}
		return converttest.Source(t, matrices, shapes)
	}
}

func fromFile(path string) func(*testing.T, *limits.Budget) tensor.Model {
	return func(t *testing.T, b *limits.Budget) tensor.Model {
		m, err := parser.Open(b, path)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func resumables(t *testing.T) map[string]resumable {
	q5, _ := mix.Find("q5_0")
	q8, _ := mix.Find("q8_0")
	all := func(*tensor.Info) bool { return true }
	return map[string]resumable{
		"copied":                           {source: stackOf(64, 96, false), o: convert.Options{Tile: 512}},
		"copied to an archive":             {source: stackOf(64, 96, false), o: convert.Options{Tile: 512, Sink: convert.NPZ{}}},
		"an archive copied":                {source: fromFile("../testdata/demo/checkpoint.pt"), o: convert.Options{Tile: 64}},
		"an archive copied to another":     {source: fromFile("../testdata/demo/weights.npz"), o: convert.Options{Tile: 64, Sink: convert.NPZ{}}},
		"blocks decoded":                   {source: fromFile("../testdata/demo/tiny.gguf"), o: convert.Options{Tile: 128}},
		"cast, numbers overflow":           {source: stackOf(64, 96, true), o: convert.Options{Tile: 512, Cast: all, Quant: quant.Options{Target: quant.F16}}},
		"cast to FP8":                      {source: stackOf(64, 96, true), o: convert.Options{Tile: 512, Cast: all, CastTo: tensor.F8E5M2}},
		"NF4":                              {source: stackOf(64, 128, false), o: convert.Options{Tile: 512, Quantize: bnb.Layout{Type: bnb.NF4, Block: 64}}},
		"NF4, scales held":                 {source: stackOf(64, 129, false), o: convert.Options{Tile: 512, Quantize: bnb.Layout{Type: bnb.NF4, Block: 64, Nested: true}}},
		"NF4 with scales quantized":        {source: stackOf(256, 256, false), o: convert.Options{Tile: 512, Quantize: bnb.Layout{Type: bnb.NF4, Block: 64, Nested: true}}},
		"INT8, numbers become zero":        {source: stackOf(64, 128, true), o: convert.Options{Tile: 512, NaN: convert.ZeroNaN, Quantize: bnb.Layout{Type: bnb.INT8}}},
		"FP8":                              {source: stackOf(128, 128, false), o: convert.Options{Tile: 512, Quantize: converttest.To(t, "fp8_block")}},
		"GPTQ, whose columns are together": {source: stackOf(128, 256, false), o: convert.Options{Tile: 512, Quantize: converttest.To(t, "gptq")}},
		"W4A16":                            {source: stackOf(128, 256, false), o: convert.Options{Tile: 512, Quantize: converttest.To(t, "w4a16")}},
		"Q5_0":                             {source: fromFile("../testdata/demo/tiny.gguf"), o: convert.Options{Tile: 256, Requantize: true, Sink: convert.GGUF{RawNames: true}, Quantize: ggml.Quantizer{Mix: q5}}},
		"Q8_0 in files":                    {source: fromFile("../testdata/demo/tiny.gguf"), folder: true, o: convert.Options{Tile: 256, Requantize: true, Sink: convert.GGUF{RawNames: true}, Quantize: ggml.Quantizer{Mix: q8}, Split: &convert.Split{Stem: "tiny", Tensors: 2}}},
		"a folder in shards":               {source: fromFile("../testdata/demo/llama-fp8"), folder: true, o: convert.Options{Tile: 256, Shard: 8000, Quant: quant.Options{Folder: true}}},
	}
}

// A runOnce is a conversion that is interrupted after some lines of the journal, never if
// after is 0.
type runOnce struct {
	resumable
	resume  *convert.Resume
	after   int64
	lines   int64 // that were written
	threads int   // 3 if it is 0
	opened  func()
}

func (r *runOnce) write(t *testing.T, target string) (*convert.Result, *convert.Plan, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var n atomic.Int64
	defer convert.OnNote(func() {
		if n.Add(1) == r.after {
			cancel()
		}
	})()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(ctx)
	defer b.Close()
	b.Source(1 << 30)
	m := r.source(t, b)
	defer m.Close()
	if r.opened != nil {
		r.opened()
	}
	o := r.o
	o.Resume, o.Threads, o.NoSync = r.resume, cmp.Or(r.threads, 3), true
	p, err := convert.NewPlan(b, m, o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var got *convert.Result
	if r.folder {
		got, err = p.WriteFolder(target, false, false)
	} else {
		got, err = p.Write(target, false)
	}
	r.lines = n.Load()
	return got, p, err
}

// contentOf returns the bytes of a file, or of all files of a folder, and what else is there.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sameFiles(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is left", what, name)
		}
	}
	for name, data := range want {
		if got[name] != data {
			t.Errorf("%s: %s has other bytes", what, name)
		}
	}
}

var secret = &convert.Resume{Key: []byte("only this user knows it"), Job: map[string]string{"version": "1"}}

// A conversion that is interrupted at any place, and resumed each time, has the bytes of an
// uninterrupted one; also if the unfinished output or its journal was damaged meanwhile.
func TestAResumedConversionHasTheSameBytes(t *testing.T) {
	for name, c := range resumables(t) {
		t.Run(name, func(t *testing.T) {
			plain := t.TempDir()
			first := runOnce{resumable: c}
			wantResult, _, err := first.write(t, filepath.Join(plain, "out"))
			if err != nil {
				t.Fatal(err)
			}
			want := contentOf(t, plain)
			once := t.TempDir()
			whole := runOnce{resumable: c, resume: secret}
			if _, _, err := whole.write(t, filepath.Join(once, "out")); err != nil {
				t.Fatal(err)
			}
			sameFiles(t, "at once", contentOf(t, once), want)
			if whole.lines < 4 {
				t.Fatalf("the journal has %d lines", whole.lines)
			}
			random := rand.New(rand.NewPCG(1, uint64(len(name))))
			went, kept, again := 0, int64(0), int64(0)
			for trial := range effort.Of(6, 120) {
				dir := t.TempDir()
				damage := ""
				for round := 0; ; round++ {
					r := runOnce{resumable: c, resume: secret, after: 1 + random.Int64N(whole.lines)}
					if round == 6 {
						r.after = 0
					}
					got, p, err := r.write(t, filepath.Join(dir, "out"))
					if err == nil {
						sameFiles(t, damage, contentOf(t, dir), want)
						if got.Resumed != nil {
							went++
							kept, again = kept+got.Resumed.Kept, again+got.Resumed.Again
							if damage == "" && round > 0 && (got.Resumed.Again > p.Size || got.Resumed.Anew != "") {
								t.Errorf("trial %d: %+v", trial, got.Resumed)
							}
						}
						if !bytes.Equal(specialText(got), specialText(wantResult)) {
							t.Errorf("%s: special values %s, want %s", damage, specialText(got), specialText(wantResult))
						}
						break
					}
					unfinished, ok := errors.AsType[*convert.Unfinished](err)
					if !ok || !errors.Is(err, context.Canceled) {
						t.Fatalf("%v", err)
					}
					if _, err := os.Stat(unfinished.Path); err != nil || unfinished.Kept > unfinished.Size {
						t.Fatalf("%+v, %v", unfinished, err)
					}
					if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
						t.Fatal("what is unfinished has the name of what is whole")
					}
					looksWhole(t, unfinished.Path)
					if trial%2 == 1 {
						damage = harm(t, random, dir)
					}
				}
			}
			if went == 0 || kept == 0 {
				t.Errorf("%d conversions went on with %d bytes", went, kept)
			}
			t.Logf("%d conversions went on with %d bytes, %d bytes were written again", went, kept, again)
		})
	}
}

func specialText(r *convert.Result) []byte {
	var text bytes.Buffer
	for _, s := range r.Special {
		text.WriteString(strings.Join([]string{s.Name, num(s.Overflow), num(s.NaN), num(s.Inf)}, " ") + "\n")
	}
	return text.Bytes()
}

func num(n int64) string { return strconv.FormatInt(n, 10) }

// looksWhole fails if an unfinished file is read as a model under any name.
func looksWhole(t *testing.T, path string) {
	t.Helper()
	err := filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
		if err == nil {
			m.Close()
			t.Errorf("%s is unfinished, and is read as %s", path, m.Format())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// harm damages a file of the unfinished output.
func harm(t *testing.T, random *rand.Rand, dir string) string {
	t.Helper()
	var names []string
	for name := range contentOf(t, dir) {
		if name != output.Mark("out") { // one that is damaged is refused
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	name := names[random.IntN(len(names))]
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		return ""
	}
	at := random.IntN(len(data))
	if name == output.Journal("out") { // so is what does not begin as a journal does
		at = max(at, min(len("amn.journal/"), len(data)-1))
	}
	what := ""
	switch random.IntN(5) {
	case 0, 1:
		what = "a bit of " + name
		data[at] ^= 1 << random.IntN(8)
	case 2:
		what = "the end of " + name
		data = data[:at]
	case 3:
		what = "more after " + name
		data = append(data, data[at:]...)
	case 4:
		what = "zeros in " + name
		clear(data[at:min(at+512, len(data))])
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return what
}

// The unfinished output of another conversion is refused, with the difference, and left unchanged.
func TestAJournalOfAnotherJobIsRefused(t *testing.T) {
	c := resumables(t)["copied"]
	dir := t.TempDir()
	target := filepath.Join(dir, "out")
	first := runOnce{resumable: c, resume: secret, after: 3}
	if _, _, err := first.write(t, target); err == nil {
		t.Fatal("it was not interrupted")
	}
	before := contentOf(t, dir)
	for what, other := range map[string]runOnce{
		`"version" is "2", and was "1"`:       {resumable: c, resume: &convert.Resume{Key: secret.Key, Job: map[string]string{"version": "2"}}},
		`"nan" is "zero", and was not given`:  {resumable: c, resume: &convert.Resume{Key: secret.Key, Job: map[string]string{"nan": "zero", "version": "1"}}},
		"the layout of the output is another": {resumable: resumables(t)["W4A16"], resume: secret},
	} {
		_, _, err := other.write(t, target)
		if err == nil || !strings.Contains(err.Error(), what) || parser.ClassOf(err) != parser.Usage {
			t.Errorf("%v, want %q", err, what)
		}
		sameFiles(t, what, contentOf(t, dir), before)
	}
	// A journal of another user is ignored.
	stranger := runOnce{resumable: c, resume: &convert.Resume{Key: []byte("another user has this"), Job: secret.Job}}
	got, _, err := stranger.write(t, target)
	if err != nil || got.Resumed == nil || got.Resumed.Kept != 0 || !strings.Contains(got.Resumed.Anew, "another user") {
		t.Errorf("%+v, %v", got, err)
	}
	// Where it has no mark either, it may belong to another program, and stays. A sealed journal shows its
	// owner, so a copied output is resumed.
	copied := t.TempDir()
	dir = t.TempDir()
	if _, _, err := first.write(t, filepath.Join(dir, "out")); err == nil {
		t.Fatal("it was not interrupted")
	}
	for name, text := range contentOf(t, dir) {
		if err := os.WriteFile(filepath.Join(copied, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before = contentOf(t, copied)
	for what, r := range map[string]runOnce{"another user": stranger, "without resume": {resumable: c}} {
		if _, _, err := r.write(t, filepath.Join(copied, "out")); err == nil || !strings.Contains(err.Error(), "may belong to another program") || parser.ClassOf(err) != parser.Usage {
			t.Errorf("%s: %v", what, err)
		}
		sameFiles(t, what, contentOf(t, copied), before)
	}
	again := runOnce{resumable: c, resume: secret}
	if got, _, err := again.write(t, filepath.Join(copied, "out")); err != nil || got.Resumed == nil || got.Resumed.Kept == 0 {
		t.Errorf("what was copied: %+v, %v", got, err)
	}
	if left := contentOf(t, copied); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
	nobodys := t.TempDir()
	if err := os.WriteFile(filepath.Join(nobodys, ".out.amn-partial"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	before = contentOf(t, nobodys)
	if _, _, err := again.write(t, filepath.Join(nobodys, "out")); err == nil || !strings.Contains(err.Error(), "may belong to another program") {
		t.Errorf("without a journal: %v", err)
	}
	sameFiles(t, "without a journal", contentOf(t, nobodys), before)
	// Without Resume, what is left is removed.
	dir = t.TempDir()
	target = filepath.Join(dir, "out")
	if _, _, err := first.write(t, target); err == nil {
		t.Fatal("it was not interrupted")
	}
	plain := runOnce{resumable: c}
	if _, _, err := plain.write(t, target); err != nil {
		t.Fatal(err)
	}
	if left := contentOf(t, dir); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
}
