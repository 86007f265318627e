package cli_test

import (
	"strings"
	"testing"
)

func TestStatsDescribeTheNumbersOfATensor(t *testing.T) {
	const numbers = "../stats/testdata/numbers.safetensors"
	for _, step := range []struct {
		args string
		code int
		has  []string
	}{
		{"stats --tensor odd " + numbers, 0, []string{"F32   [40001]", "2    2  odd", "odd, by magnitude", "2^-127"}},
		{"stats " + numbers, 0, []string{"13 tensors", "nan\n", "none\n"}},
		{"stats ../stats/testdata/numbers.npz", 0, []string{"C64"}},
		{"stats ../testdata/demo/llama-fp8", 0, []string{"FP8"}},
		{"stats --tensor nothing " + numbers, 2, []string{"no tensor name matches"}},
		{"stats -", 2, []string{"standard input"}},
		{"stats --json --tensor f64 " + numbers, 0, []string{`"min":-1e+100`}},
		{"verify --finite " + numbers, 7, []string{`tensor "nan"`, "9 NaN and 0 infinite numbers, the first is element 0"}},
		{"verify --finite ../stats/testdata/blocks.gguf", 0, []string{"1 tensor", "all numbers finite"}},
		{"verify --finite --against " + numbers + " " + numbers, 2, []string{"cannot be combined"}},
	} {
		r := amn(t, nil, strings.Fields(step.args)...)
		for _, has := range step.has {
			if r.code != step.code || !strings.Contains(r.out+r.err, has) {
				t.Errorf("%s: exit %d, no %q in %s%s", step.args, r.code, has, r.out, r.err)
			}
		}
	}
}
