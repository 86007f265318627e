package view

import (
	"math"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/browse"
	"github.com/anamnesis-go/anamnesis/internal/width"
	"github.com/anamnesis-go/anamnesis/stats"
)

func TestSparklines(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		values  []float64
		columns int
		want    string
	}{
		{nil, 9, ""}, {[]float64{1}, 0, ""}, {[]float64{0, 1, 2, 4, 8}, 9, " ▂▃▅█"}, {[]float64{1, 2, 8, 4}, 2, "▃█"},
		{[]float64{nan, 1, nan, nan}, 2, "█ "}, {[]float64{0, 0}, 2, "  "}, {[]float64{1, inf}, 2, "▁▁"}, {[]float64{5e-324, 5e-324}, 2, "██"},
	} {
		if got := sparkline(c.values, c.columns); got != c.want {
			t.Errorf("%v in %d: %q, want %q", c.values, c.columns, got, c.want)
		}
	}
	if got := bars([]stats.Bin{{Exp: -3, Positive: 1}, {Exp: 0, Negative: 2, Positive: 1}}); len(got) != 4 || got[0] != 1 || got[1] != 0 || got[3] != 3 {
		t.Errorf("bars %v", got)
	}
}

// Whatever a tensor holds, no line of its page but a sentence is wider than the pane.
func TestALookFitsItsPane(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, d := range []*stats.Detail{
		{},
		{Tensor: stats.Tensor{Name: "w", Type: strings.Repeat("t", 99), Shape: []int64{1 << 40, 1 << 20, 7, 7, 7, 7}, Elements: 1 << 50, Numbers: true, NaN: 3, Infinite: 1, Min: -1e308, Max: 1e308, Mean: nan, Std: inf,
			Bins: []stats.Bin{{Exp: -1074, Negative: 1}, {Exp: 1023, Positive: 1 << 50}}},
			Read: 1 << 50, Rows: 1 << 30, Cols: 1 << 20, GridRows: 2, GridCols: 2, Grid: []float64{nan, inf, 0, 1}, RowNorms: []float64{nan, inf}, ColNorms: []float64{0, 1},
			Values: []float64{nan, inf, -1.7976931348623157e308, 0.1}, Largest: []stats.Element{{Index: 1<<50 - 1, Value: -1e300}}},
	} {
		for columns := 36; columns < 200; columns += 11 {
			l := &look{title: "w", bytes: "00", subjects: []*subject{{title: "Stored", detail: d}, {title: "Decoded"}, {title: "Failed", failed: "no"}}}
			for _, line := range drawLook(l, columns) {
				if n := width.Of(line.Text); n > columns && !strings.Contains(line.Text, "[") && !strings.Contains(line.Text, "not decoded") {
					t.Errorf("%d columns of %d: %q", n, columns, line.Text)
				}
			}
		}
	}
	l := &look{subjects: []*subject{{title: "Stored", detail: &stats.Detail{Tensor: stats.Tensor{Numbers: true, Elements: 4, NaN: 1}, Read: 4}}}}
	warned := false
	for _, line := range drawLook(l, 80) {
		warned = warned || line.Style == browse.Warning && strings.HasPrefix(line.Text, "NaN:")
	}
	if !warned {
		t.Error("a NaN has no colour")
	}
}
