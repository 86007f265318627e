package convert_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Each kind of conversion with one worker charges what testdata/charges.txt says: at once, and as
// the end of one that was interrupted.
func TestConversionsChargeWhatTheyDid(t *testing.T) {
	list := resumables(t)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		t.Run(name, func(t *testing.T) {
			once := runOnce{resumable: list[name], resume: secret, threads: 1}
			target := placeOf(t)
			first := once
			first.after = 2
			if _, _, err := first.write(t, target); err == nil {
				t.Fatal("it was not interrupted")
			}
			once.opened = func() { ledger.Charges(t) }
			if _, _, err := once.write(t, target); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// placeOf is a name of a fixed length in an empty folder: a journal pays for its names.
func placeOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if len(dir) >= 200 {
		t.Fatalf("%s is too long", dir)
	}
	return filepath.Join(dir, strings.Repeat("o", 240-len(dir)))
}

// The same for other sources and other options: a file of each format to each format, a folder of
// each scheme that is decoded, tensors left out, and metadata that is changed.
func TestPlansChargeWhatTheyDid(t *testing.T) {
	run := func(name, source string, folder bool, o convert.Options) {
		t.Run(name, func(t *testing.T) {
			b := converttest.Account(t)
			m, err := parser.Open(b, source)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			ledger.Charges(t)
			o.Threads, o.Tile, o.NoSync = 1, 256, true
			edit := convert.Edit{Set: []convert.Entry{{Key: "general.name", Value: "mine"}}}
			o.Meta = func(meta []convert.Entry) ([]convert.Entry, error) { return edit.Apply(b, meta) }
			p, err := convert.NewPlan(b, m, o)
			if err != nil {
				if class := parser.ClassOf(err); class != parser.Unsupported {
					t.Fatal(err)
				}
				return
			}
			defer p.Close()
			if folder {
				_, err = p.WriteFolder(placeOf(t), false, false)
			} else {
				_, err = p.Stream(converttest.NewMemory(p.Size))
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	sinks := []convert.Sink{convert.Safetensors{}, convert.NPZ{}, convert.GGUF{RawNames: true}}
	demo, err := filepath.Glob("../testdata/demo/*.*")
	if err != nil || len(demo) < 4 {
		t.Fatal(demo, err)
	}
	for _, source := range append(demo, "../testdata/demo/sharded", "../testdata/demo/split", llama) {
		b := converttest.Account(t)
		m, err := parser.Open(b, source)
		if err != nil {
			continue // a text beside the models
		}
		m.Close()
		for _, sink := range sinks {
			run(filepath.Base(source)+" to "+sink.Name(), source, false, convert.Options{Sink: sink})
		}
		run(filepath.Base(source)+" in part", source, false, convert.Options{Keep: func(name string) bool { return !strings.Contains(name, "0") }})
	}
	schemes, err := filepath.Glob("../quant/*/testdata/*/oracle.txt")
	if err != nil || len(schemes) < 150 {
		t.Fatal(len(schemes), err)
	}
	seen := map[string]bool{}
	for _, oracle := range schemes {
		dir := filepath.Dir(oracle)
		scheme := filepath.Base(filepath.Dir(filepath.Dir(dir)))
		if info, err := os.Stat(filepath.Join(dir, "config.json")); seen[scheme] || err != nil || info.IsDir() {
			continue
		}
		seen[scheme] = true
		run(scheme+" decoded", dir, true, convert.Options{Quant: quant.Options{Folder: true}, Shard: 1 << 30})
	}
	if len(seen) < 8 {
		t.Errorf("folders of %d schemes", len(seen))
	}
}

// So does a comparison of encodings.
func TestComparisonsChargeWhatTheyDid(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m := converttest.Source(t, map[string][]float32{"a.weight": converttest.Wave(64 * 64)}, map[string][]int64{"a.weight": {64, 64}})
	ledger.Charges(t)
	all := convert.NewComparison(b)
	for _, q := range every()[:2] {
		if err := all.Add(m, convert.Options{Quantize: q, Threads: 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := all.Measure(); err != nil {
		t.Fatal(err)
	}
}

// Each charge of memory, items or files that is refused ends a conversion as a limit: no work
// after it, and no file.
func TestEachRefusedChargeEndsAConversion(t *testing.T) {
	for name, c := range map[string]convert.Options{
		"decoded":  {Sink: convert.Safetensors{}},
		"archived": {Sink: convert.NPZ{}},
		"as it is": {Sink: convert.GGUF{RawNames: true}, AsIs: true},
	} {
		t.Run(name, func(t *testing.T) {
			at, asked, planned := 0, 0, false
			limitstest.Refuse(t, func(string, int64) bool {
				if planned { // what a model is gets asked on accounts of their own, too
					asked++
				}
				return planned && asked == at
			})
			write := func(target string) error {
				b := converttest.Account(t)
				m, err := parser.Open(b, "../testdata/demo/tiny.gguf")
				if err != nil {
					return err
				}
				defer m.Close()
				asked, planned = 0, true
				defer func() { planned = false }()
				c.Threads, c.NoSync = 1, true
				p, err := convert.NewPlan(b, m, c)
				if err != nil {
					return err
				}
				defer p.Close()
				_, err = p.Write(target, false)
				return err
			}
			for at = 1; ; at++ {
				dir := t.TempDir()
				err := write(filepath.Join(dir, "out"))
				if at > asked {
					if err != nil || at < 10 {
						t.Errorf("%d charges: %v", asked, err)
					}
					return
				}
				if left, _ := os.ReadDir(dir); !errors.Is(err, limits.ErrLimit) || len(left) > 0 {
					t.Errorf("charge %d is refused: %v, left %v", at, err, left)
				}
			}
		})
	}
}
