package fuzz_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/torchcode"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

var (
	literal = regexp.MustCompile(`"(\\.|[^"\\\n])*"|'(\\.|[^'\\\n])*'`)
	effects = regexp.MustCompile(`\.\s*(from_file|save|manual_seed|set_grad_enabled|wait)\b|\b(print|fork)\s*\(`)
)

// FuzzTorchCode tests that code has the same problems twice, that nothing stays charged, and that code
// without problems has no operator, outside of strings, that does more than compute.
func FuzzTorchCode(f *testing.F) {
	files, err := filepath.Glob("../internal/torchcode/testdata/*.py")
	if err != nil || len(files) == 0 {
		f.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		src := string(data)
		read := func() string {
			b := limits.Policy{MaxTotalBytes: 16 << 20, MaxSteps: 1 << 20}.Budget(t.Context())
			defer b.Close()
			w := b.Probe()
			defer limitstest.NoLeak(t, b)
			defer w.Close()
			c := torchcode.New(w)
			if err := c.Read("code/__torch__.py", "__torch__", src); err != nil {
				return classed(t, err)
			}
			problems, more, err := c.Problems()
			if err != nil {
				return classed(t, err)
			}
			if where := effects.FindString(literal.ReplaceAllString(src, "")); len(problems) == 0 && where != "" {
				t.Errorf("%q is no problem", where)
			}
			return fmt.Sprint(problems, more)
		}
		if first, again := read(), read(); first != again {
			t.Fatalf("%s, then %s", first, again)
		}
	})
}
