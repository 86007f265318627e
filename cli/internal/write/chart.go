package write

import (
	"bufio"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/cli/internal/term"
)

// A point is a mark of a chart. A label is drawn where there is room for it.
type point struct {
	x, y  float64
	label string
	kind  string // the class of the mark: "front", "beaten" or "chosen"
	title string // shown while the mark is pointed at
}

// A scale maps values onto pixels, by their logarithms if they are of several orders of magnitude.
type scale struct {
	from, to   float64 // values
	start, end float64 // pixels
	log        bool
	ticks      []float64
}

// newScale returns a scale of all values, which begins at 0 if that is not far from the least.
func newScale(values []float64, start, end float64) scale {
	s := scale{from: math.Inf(1), start: start, end: end}
	for _, v := range values {
		s.from, s.to = min(s.from, v), max(s.to, v)
	}
	switch {
	case !(s.to > 0):
		s.from, s.to = 0, 1
	case s.from > 0 && s.to > 30*s.from:
		s.log = true
		s.decades()
		return s
	case s.from < s.to/4:
		s.from = 0
	}
	step := niceStep((s.to - s.from) / 6)
	if step == 0 { // of one value
		s.from, step = 0, niceStep(s.to/6)
	}
	first := math.Floor(s.from / step)
	last := math.Ceil(s.to / step)
	for i := first; i <= last; i++ {
		s.ticks = append(s.ticks, i*step)
	}
	s.from, s.to = first*step, last*step
	return s
}

// decades puts ticks at 1, 2 and 5 of each power of ten, or at the powers alone if they are many, from
// the last one that is not above the least value to the first that is not below the largest.
func (s *scale) decades() {
	low, high := math.Floor(math.Log10(s.from)), math.Ceil(math.Log10(s.to))
	parts := []float64{1, 2, 5}
	if high-low > 4 {
		parts = parts[:1]
	}
	var all []float64
	for e := low; e <= high; e++ {
		for _, p := range parts {
			all = append(all, p*math.Pow(10, e))
		}
	}
	first, last := 0, len(all)-1
	for first < last && all[first+1] <= s.from {
		first++
	}
	for last > first+1 && all[last-1] >= s.to {
		last--
	}
	s.ticks = all[first : last+1]
	s.from, s.to = s.ticks[0], s.ticks[len(s.ticks)-1]
}

// niceStep returns the least of 1, 2 and 5 times a power of ten that is not below x.
func niceStep(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, n := range []float64{1, 2, 5} {
		if n*power >= x {
			return n * power
		}
	}
	return 10 * power
}

func (s *scale) at(v float64) float64 {
	from, to := s.from, s.to
	if s.log {
		v, from, to = math.Log(max(v, s.from)), math.Log(from), math.Log(to)
	}
	return s.start + (s.end-s.start)*(v-from)/(to-from)
}

// A box is the place of a text or of a mark.
type box struct{ left, top, right, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

const (
	chartWidth, chartHeight = 760.0, 420.0
	letter, line            = 6.2, 12.0 // of a text of 11 pixels
)

// labelBox returns the place of a label beside (x, y), by the direction and the distance from there.
func labelBox(x, y, dx, dy, distance float64, text string) box {
	width := letter * float64(utf8.RuneCountInString(text))
	left := x + dx*distance
	switch {
	case dx < 0:
		left -= width
	case dx == 0:
		left -= width / 2
	}
	middle := y + dy*distance
	return box{left, middle - line/2, left + width, middle + line/2}
}

// place returns where a label fits that meets nothing taken, the nearest place first. ok is false if
// there is no room: then the mark has its title alone.
func (c *chart) place(x, y float64, text string, taken []box) (b box, ok bool) {
	for distance := 9.0; distance < 120; distance += 6 {
		for _, d := range [][2]float64{{1, -.7}, {1, 0}, {1, .7}, {-1, -.7}, {-1, 0}, {-1, .7}, {0, -1}, {0, 1}} {
			b := labelBox(x, y, d[0], d[1], distance, text)
			free := b.left >= c.x.start && b.right <= chartWidth && b.top >= 0 && b.bottom <= c.y.start
			for _, o := range taken {
				free = free && !b.meets(o)
			}
			if free {
				return b, true
			}
		}
	}
	return b, false
}

// A chart plots points, error against size.
type chart struct {
	x, y   scale
	points []point
	line   bool // joins the points without a kind, which have no mark
}

func newChart(points []point) *chart {
	c := &chart{points: points}
	var xs, ys []float64
	for _, p := range points {
		xs, ys = append(xs, p.x), append(ys, p.y)
	}
	c.x, c.y = newScale(xs, 62, chartWidth-20), newScale(ys, chartHeight-42, 16)
	return c
}

// labels returns the place of each label, an empty one if it has none.
func (c *chart) labels() []box {
	var taken []box
	for _, p := range c.points {
		if p.label != "" {
			x, y := c.x.at(p.x), c.y.at(p.y)
			taken = append(taken, box{x - 5, y - 5, x + 5, y + 5})
		}
	}
	out := make([]box, len(c.points))
	for i, p := range c.points {
		if p.label == "" {
			continue
		}
		if b, ok := c.place(c.x.at(p.x), c.y.at(p.y), p.label, taken); ok {
			out[i], taken = b, append(taken, b)
		}
	}
	return out
}

// draw writes the chart. name says what it shows, to those who do not see it.
func (c *chart) draw(w *bufio.Writer, name, across, up string) {
	put := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	put(`<svg width="%g" height="%g" viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartWidth, chartHeight, chartWidth, chartHeight, safe(name))
	for _, v := range c.x.ticks {
		put(`<path class="rule" d="M%.1f %.1fV%.1f"/><text x="%.1f" y="%.1f" text-anchor="middle">%.3g</text>`, c.x.at(v), c.y.start, c.y.end, c.x.at(v), c.y.start+15, v)
	}
	for _, v := range c.y.ticks {
		put(`<path class="rule" d="M%.1f %.1fH%.1f"/><text x="%.1f" y="%.1f" text-anchor="end">%.3g</text>`, c.x.start, c.y.at(v), c.x.end, c.x.start-6, c.y.at(v)+4, v)
	}
	put(`<text x="%.1f" y="%.1f" text-anchor="end">%s</text><text x="%.1f" y="%.1f">%s</text>`, c.x.end, c.y.start+34, safe(across), c.x.start+4, c.y.end-4, safe(up))
	if c.line {
		var path strings.Builder
		for i, p := range c.points {
			if p.kind == "" {
				fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], c.x.at(p.x), c.y.at(p.y))
			}
		}
		put(`<path class="curve" d="%s"/>`, path.String())
	}
	boxes := c.labels()
	for i, p := range c.points {
		x, y, b := c.x.at(p.x), c.y.at(p.y), boxes[i]
		if p.kind == "" {
			continue
		}
		if b != (box{}) && (math.Abs((b.top+b.bottom)/2-y) > 12 || min(math.Abs(b.left-x), math.Abs(b.right-x)) > 14) {
			put(`<path class="lead" d="M%.1f %.1fL%.1f %.1f"/>`, x, y, min(max(x, b.left), b.right), min(max(y, b.top), b.bottom))
		}
		put(`<circle class="%s" cx="%.1f" cy="%.1f" r="4.5"><title>%s</title></circle>`, p.kind, x, y, safe(p.title))
		if b != (box{}) {
			put(`<text x="%.1f" y="%.1f">%s</text>`, b.left, b.bottom-3, safe(p.label))
		}
	}
	put("</svg>")
}

// cutLabel shortens a name to what fits beside a point.
func cutLabel(name string) string { return term.CutMiddle(name, 26) }
