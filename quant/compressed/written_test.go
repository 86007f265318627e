package compressed_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Long rows are encoded some hundred blocks at a time.
func TestScalesOfLongRows(t *testing.T) {
	const rows, cols = 16, 700 * 128
	numbers := map[string][]float32{"m.weight": converttest.Wave(rows * cols)}
	m := converttest.Source(t, numbers, map[string][]int64{"m.weight": {rows, cols}})
	short := converttest.Source(t, numbers, map[string][]int64{"m.weight": {rows * 700, 128}})
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	var got [2]map[string]string
	for i, m := range []tensor.Model{m, short} {
		out, _, err := converttest.Store(t, b, m, converttest.To(t, "w4a16", converttest.Measuring), 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = converttest.Stored(t, b, out)
	}
	for _, name := range []string{"m.weight_packed", "m.weight_scale"} {
		a, b := got[0][name], got[1][name]
		if a[strings.Index(a, "]"):] != b[strings.Index(b, "]"):] {
			t.Errorf("%s of one row of blocks is not that of many", name)
		}
	}
}
