package write

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// No label of a chart meets another or a mark, and none leaves the chart, however the points lie.
func TestLabelsOfAChartDoNotMeet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	drawn, given := 0, 0
	for range 200 {
		var points []point
		for i := range 1 + r.IntN(24) {
			spread := math.Pow(10, -3*r.Float64())
			points = append(points, point{x: 4 + spread*r.Float64(), y: math.Exp(-5 * r.Float64()), label: fmt.Sprintf("target_%d%s", i, strings.Repeat("x", r.IntN(12))), kind: "front"})
		}
		c := newChart(points)
		boxes := c.labels()
		for i, b := range boxes {
			given++
			if b == (box{}) {
				continue
			}
			drawn++
			if b.left < c.x.start || b.right > chartWidth || b.top < 0 || b.bottom > c.y.start {
				t.Fatalf("%s is out of the chart: %v", points[i].label, b)
			}
			for k, o := range boxes {
				if k != i && o != (box{}) && b.meets(o) {
					t.Fatalf("%s meets %s", points[i].label, points[k].label)
				}
				x, y := c.x.at(points[k].x), c.y.at(points[k].y)
				if b.meets(box{x - 4, y - 4, x + 4, y + 4}) {
					t.Fatalf("%s hides a mark", points[i].label)
				}
			}
		}
	}
	if drawn*10 < given*9 {
		t.Errorf("%d of %d labels are drawn", drawn, given)
	}
}

// A scale holds all of its values, between its first and its last tick.
func TestScalesHoldTheirValues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		values := make([]float64, 1+r.IntN(5))
		for i := range values {
			values[i] = math.Exp(20*r.Float64() - 10)
			if r.IntN(8) == 0 {
				values[i] = 0
			}
		}
		s := newScale(values, 100, 0)
		if len(s.ticks) < 2 || len(s.ticks) > 16 {
			t.Fatalf("%v: ticks %v", values, s.ticks)
		}
		for _, v := range values {
			if at := s.at(v); !(at >= -1e-9 && at <= 100+1e-9) {
				t.Fatalf("%v: %g is at %g, ticks %v", values, v, at, s.ticks)
			}
		}
		for i := 1; i < len(s.ticks); i++ {
			if s.ticks[i] <= s.ticks[i-1] {
				t.Fatalf("%v: ticks %v", values, s.ticks)
			}
		}
	}
}

// The curve of budgets falls from the smallest types to the largest, and the choice is on it or, where
// only a smaller step still fitted, not below it.
func TestTheCurveOfBudgets(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		var list []*tensorOptions
		total := int64(0)
		for i := range 1 + r.IntN(12) {
			l := &tensorOptions{name: fmt.Sprint(i), numbers: 1024}
			loss := 900 * r.Float64()
			for k := range 1 + r.IntN(5) {
				l.options = append(l.options, typeOption{tensor.DType(k), int64(100*(k+1) + r.IntN(50)), loss})
				loss *= r.Float64()
			}
			total += l.options[len(l.options)-1].bytes
			list = append(list, l)
		}
		chooseTypes(list, total*3/4)
		chosen := make([]int, len(list))
		for i, l := range list {
			chosen[i] = l.chosen
		}
		curve := curveOf(list)
		for i, l := range list {
			if l.chosen != chosen[i] {
				t.Fatal("the choice has changed")
			}
		}
		last := curve[len(curve)-1]
		if last.kind != "chosen" || last.x != sizeAndError(list).x || last.y != sizeAndError(list).y {
			t.Fatalf("the last point is %+v", last)
		}
		for i := 1; i < len(curve)-1; i++ {
			if curve[i].x <= curve[i-1].x || curve[i].y >= curve[i-1].y {
				t.Fatalf("the curve does not fall: %v", curve)
			}
		}
		for _, p := range curve[:len(curve)-1] {
			if p.x <= last.x && p.y < last.y-1e-12 && !exceeds(p.x, list, total*3/4) {
				t.Fatalf("%v fits the budget and is better than %v", p, last)
			}
		}
	}
}

// exceeds reports whether weights of these bits take more than most bytes.
func exceeds(bits float64, list []*tensorOptions, most int64) bool {
	return bits*float64(1024*len(list))/8 > float64(most)
}

// A drawing is well formed, whatever its names are.
func TestAChartIsWellFormed(t *testing.T) {
	var text strings.Builder
	w := bufio.NewWriter(&text)
	newChart([]point{{1, 2, `a<b>"&`, "front", `<script>`}, {3, 0, "", "chosen", ""}, {2, 1, "", "", ""}}).draw(w, `"><x>`, "<", "&")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(text.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, text.String())
		}
		if start, ok := token.(xml.StartElement); ok && (start.Name.Local == "script" || start.Name.Local == "x" || start.Name.Local == "b") {
			t.Errorf("a name became an element: %s", start.Name.Local)
		}
	}
}
