package write

import (
	"bufio"
	"cmp"
	_ "embed" // the beginning of a page
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A lossPage is a self-contained HTML file: text, tables, and charts in SVG.
type lossPage struct {
	w     *bufio.Writer
	typed string // the name of the type that every weight has, "" if its tensor states it
}

func (p *lossPage) put(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// safe escapes text for HTML, in elements and in attributes.
func safe(text string) string { return html.EscapeString(term.Name(text)) }

// pageHead is the beginning of a page, with the places of its title and of its heading.
//
//go:embed page.html
var pageHead string

func (p *lossPage) begin(title string) { p.put(pageHead, safe(title), safe(title)) }

func (p *lossPage) end() { p.put("</main></body></html>") }

// draw begins an SVG, which shrinks on a narrow page. name says what it shows.
func (p *lossPage) draw(width, height int, name string) {
	p.put(`<svg width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, height, width, height, safe(name))
}

// typeOf returns the name of a weight's type as its format has it: NF4, not the type of the tensor that
// holds the codes.
func (p *lossPage) typeOf(w *convert.QuantizedWeight) string { return cmp.Or(p.typed, w.Type.String()) }

// curve draws what other budgets would have given.
func (p *lossPage) curve(points []point) {
	p.put("<h2>Error against size, by budget</h2>")
	c := newChart(points[:len(points)-1])
	c.points, c.line = points, true
	chosen := points[len(points)-1]
	c.draw(p.w, fmt.Sprintf("relative RMSE against bits per weight for every budget; chosen are %.3f bits, with %.4g", chosen.x, chosen.y), "bits per weight", "relative RMSE")
}

// A place is the layer of a weight, or -1, and its name within the layer.
type place struct {
	layer int
	kind  string
}

// placeOf splits a name at its layer, the first part that is a number.
func placeOf(name string) place {
	parts := strings.Split(strings.TrimSuffix(name, ".weight"), ".")
	for i, s := range parts {
		if n, err := strconv.Atoi(s); err == nil && n >= 0 && i+1 < len(parts) {
			return place{n, strings.Join(parts[i+1:], ".")}
		}
	}
	return place{-1, strings.Join(parts, ".")}
}

// maxDrawn bounds the layers and the kinds of a chart.
const maxDrawn = 400

// writeQuantizedPage writes a page about the loss of quantizing one model.
func writeQuantizedPage(w *bufio.Writer, c *conversion) {
	e, p := c.plan.Quantized, &lossPage{w, c.typed}
	p.begin("Loss by quantization: " + term.Path(c.path))
	all := e.Lost()
	var before, after int64
	for i := range e.Weights {
		before, after = wire.AddCap(before, e.Weights[i].Before), wire.AddCap(after, e.Weights[i].After)
	}
	p.put("<p>%s: %s, %s &rarr; %s.</p>", safe(e.Layout), term.Plural(int64(len(e.Weights)), "weight"), term.Bytes(before), term.Bytes(after))
	p.table([]weightLost{{"in all", &all, ""}})
	if len(c.curve) > 0 {
		p.curve(c.curve)
	}
	p.grid(e.Weights)
	p.types(e.Weights)
	p.histogram(e.Weights)
	p.worst(e.Weights)
	p.end()
}

// A weightLost is a row of a table.
type weightLost struct {
	name string
	lost *quant.Distortion
	kind string
}

func (p *lossPage) table(list []weightLost) {
	p.put(`<div class="wide" tabindex="0"><table><tr><th scope="col">weight</th><th scope="col">type</th><th scope="col">mean error</th><th scope="col">relative RMSE</th><th scope="col">largest</th><th scope="col">cosine</th><th scope="col">SNR, dB</th></tr>`)
	for _, l := range list {
		p.put("<tr><td>%s</td><td>%s</td><td>%.4g</td><td>%.4g</td><td>%.4g</td><td>%.6f</td><td>%s</td></tr>", safe(l.name), safe(l.kind),
			l.lost.MAE(), l.lost.RelativeRMSE(), l.lost.Max, l.lost.Cosine(), decibels(l.lost))
	}
	p.put("</table></div>")
}

// decibels returns the signal-to-noise ratio as text.
func decibels(d *quant.Distortion) string {
	if snr := d.SNR(); !math.IsInf(snr, 1) {
		return fmt.Sprintf("%.2f", snr)
	}
	return "lossless"
}

// A shading says how opaque a cell is, from the least to the largest error. Errors that hardly differ
// have shades that hardly differ.
type shading struct{ least, most float64 }

func shadingOf(weights []convert.QuantizedWeight) (s shading) {
	s.least = math.Inf(1)
	for i := range weights {
		if weights[i].Lost.N > 0 {
			loss := weights[i].Lost.RelativeRMSE()
			s.least, s.most = min(s.least, loss), max(s.most, loss)
		}
	}
	s.least = min(s.least, s.most/2)
	return s
}

func (s shading) of(loss float64) float64 {
	if s.most == s.least {
		return 0.08
	}
	return 0.08 + 0.92*(loss-s.least)/(s.most-s.least)
}

// grid draws the error by layer and kind.
func (p *lossPage) grid(weights []convert.QuantizedWeight) {
	var kinds []string
	layers, shades := 0, shadingOf(weights)
	for i := range weights {
		at := placeOf(weights[i].Name)
		if !slices.Contains(kinds, at.kind) && len(kinds) < maxDrawn {
			kinds = append(kinds, at.kind)
		}
		layers = max(layers, min(at.layer+1, maxDrawn))
	}
	const cell = 16
	left := 40
	for _, kind := range kinds {
		left = max(left, 20+7*utf8.RuneCountInString(term.CutMiddle(kind, 40)))
	}
	p.put("<h2>Relative RMSE by layer and kind</h2>")
	p.legend(shades)
	p.put(`<div class="wide" tabindex="0">`)
	p.draw(left+cell*(layers+1)+20, cell*(len(kinds)+1)+10, "relative RMSE of each weight, by layer and kind; the table below lists the largest")
	for k, kind := range kinds {
		p.put(`<text x="0" y="%d">%s</text>`, k*cell+12, safe(term.CutMiddle(kind, 40)))
	}
	for i := range weights {
		at, w := placeOf(weights[i].Name), &weights[i]
		row := slices.Index(kinds, at.kind)
		if row < 0 || at.layer >= layers && layers > 0 || w.Lost.N == 0 {
			continue
		}
		p.put(`<rect class="cell" x="%d" y="%d" width="%d" height="%d" fill-opacity="%.2f"><title>%s: %.4g (%s)</title></rect>`, left+cell*(at.layer+1), row*cell, cell-1, cell-1,
			shades.of(w.Lost.RelativeRMSE()), safe(w.Name), w.Lost.RelativeRMSE(), safe(p.typeOf(w)))
	}
	for n := 0; n < layers; n += 4 {
		p.put(`<text x="%d" y="%d">%d</text>`, left+cell*(n+1), cell*len(kinds)+12, n)
	}
	p.put("</svg></div>")
}

// legend says which shade is which error.
func (p *lossPage) legend(s shading) {
	const steps, width = 5, 90
	p.draw(steps*width, 32, "shades of the cells, from the least error to the largest")
	for i := range steps {
		value := s.least + (s.most-s.least)*float64(i)/(steps-1)
		p.put(`<rect class="cell" x="%d" y="0" width="%d" height="14" fill-opacity="%.2f"/><text x="%d" y="27">%.3g</text>`, i*width, width, s.of(value), i*width, value)
	}
	p.put("</svg>")
}

// bars draws a horizontal bar for each label.
func (p *lossPage) bars(name string, labels []string, sizes []float64, text func(i int) string) {
	most := slices.Max(append([]float64{0}, sizes...))
	p.draw(780, 22*len(labels)+4, name)
	for i, label := range labels {
		width := 0.0
		if most > 0 {
			width = 470 * sizes[i] / most
		}
		p.put(`<text x="0" y="%d">%s</text><rect class="bar" x="190" y="%d" width="%.1f" height="16"/><text x="%.1f" y="%d">%s</text>`,
			22*i+14, safe(label), 22*i+2, width, 196+width, 22*i+14, safe(text(i)))
	}
	p.put("</svg>")
}

func (p *lossPage) types(weights []convert.QuantizedWeight) {
	var labels []string
	var sizes []float64
	for i := range weights {
		name := p.typeOf(&weights[i])
		at := slices.Index(labels, name)
		if at < 0 {
			at, labels, sizes = len(labels), append(labels, name), append(sizes, 0)
		}
		sizes[at] += float64(weights[i].After)
	}
	p.put("<h2>Bytes by type</h2>")
	p.bars("bytes by type", labels, sizes, func(i int) string { return term.Bytes(int64(sizes[i])) })
}

// histogram draws how many numbers are in weights of which relative RMSE.
func (p *lossPage) histogram(weights []convert.QuantizedWeight) {
	const bins = 12
	s := shadingOf(weights)
	var labels []string
	sizes := make([]float64, bins)
	for i := range bins {
		labels = append(labels, fmt.Sprintf("to %.3g", s.least+(s.most-s.least)*float64(i+1)/bins))
	}
	for i := range weights {
		if w := &weights[i]; w.Lost.N > 0 && s.most > s.least {
			sizes[min(bins-1, int((w.Lost.RelativeRMSE()-s.least)/(s.most-s.least)*bins))] += float64(w.Elements)
		}
	}
	p.put("<h2>Numbers by relative RMSE of their weight</h2>")
	p.bars("numbers by the relative RMSE of their weight", labels, sizes, func(i int) string { return term.Count(int64(sizes[i])) })
}

func (p *lossPage) worst(weights []convert.QuantizedWeight) {
	var list []weightLost
	for i := range weights {
		if w := &weights[i]; w.Lost.N > 0 {
			list = append(list, weightLost{w.Name, &w.Lost, p.typeOf(w)})
		}
	}
	slices.SortStableFunc(list, func(a, b weightLost) int { return cmp.Compare(b.lost.RelativeRMSE(), a.lost.RelativeRMSE()) })
	p.put("<h2>Largest relative RMSE</h2>")
	p.table(list[:min(len(list), 25)])
}
