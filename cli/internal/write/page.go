package write

import (
	"bufio"
	"cmp"
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
type lossPage struct{ w *bufio.Writer }

func (p *lossPage) put(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// safe escapes text for HTML, in elements and in attributes.
func safe(text string) string { return html.EscapeString(term.Name(text)) }

const pageHead = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="amn"><title>%s</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #222; background: #fff }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; display: block; overflow-x: auto } td, th { padding: .15rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left; white-space: normal; min-width: 11rem } svg { max-width: 100%%; height: auto } svg text { font: 11px system-ui, sans-serif; fill: #222 }
</style></head><body>
<h1>%s</h1>`

func (p *lossPage) begin(title string) { p.put(pageHead, safe(title), safe(title)) }

func (p *lossPage) end() { p.put("</body></html>") }

// draw begins an SVG, which shrinks on a narrow page.
func (p *lossPage) draw(width, height int) {
	p.put(`<svg width="%d" height="%d" viewBox="0 0 %d %d" role="img">`, width, height, width, height)
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
	e, p := c.plan.Quantized, &lossPage{w}
	p.begin("Loss by quantization: " + term.Path(c.path))
	all := e.Lost()
	var before, after int64
	for i := range e.Weights {
		before, after = wire.AddCap(before, e.Weights[i].Before), wire.AddCap(after, e.Weights[i].After)
	}
	p.put("<p>%s: %s, %s &rarr; %s.</p>", safe(e.Layout), term.Plural(int64(len(e.Weights)), "weight"), term.Bytes(before), term.Bytes(after))
	p.table([]weightLost{{"in all", &all, ""}})
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
	p.put("<table><tr><th></th><th>type</th><th>mean error</th><th>relative RMSE</th><th>largest</th><th>cosine</th><th>SNR, dB</th></tr>")
	for _, l := range list {
		p.put("<tr><td>%s</td><td>%s</td><td>%.4g</td><td>%.4g</td><td>%.4g</td><td>%.6f</td><td>%s</td></tr>", safe(l.name), safe(l.kind),
			l.lost.MAE(), l.lost.RelativeRMSE(), l.lost.Max, l.lost.Cosine(), decibels(l.lost))
	}
	p.put("</table>")
}

// decibels returns the signal-to-noise ratio as text.
func decibels(d *quant.Distortion) string {
	if snr := d.SNR(); !math.IsInf(snr, 1) {
		return fmt.Sprintf("%.2f", snr)
	}
	return "lossless"
}

// shade returns a colour between pale (0) and dark (most).
func shade(x, most float64) string {
	t := 0.0
	if most > 0 {
		t = x / most
	}
	mix := func(from, to float64) int { return int(math.Round(from + (to-from)*t)) }
	return fmt.Sprintf("#%02x%02x%02x", mix(237, 165), mix(243, 15), mix(250, 21))
}

// grid draws the error by layer and kind.
func (p *lossPage) grid(weights []convert.QuantizedWeight) {
	var kinds []string
	layers, most := 0, 0.0
	for i := range weights {
		at := placeOf(weights[i].Name)
		if !slices.Contains(kinds, at.kind) && len(kinds) < maxDrawn {
			kinds = append(kinds, at.kind)
		}
		layers, most = max(layers, min(at.layer+1, maxDrawn)), max(most, weights[i].Lost.RelativeRMSE())
	}
	const cell = 16
	left := 40
	for _, kind := range kinds {
		left = max(left, 20+7*utf8.RuneCountInString(term.CutMiddle(kind, 40)))
	}
	p.put("<h2>Relative RMSE by layer and kind (darkest %.4g)</h2>", most)
	p.draw(left+cell*(layers+1)+20, cell*(len(kinds)+1)+10)
	for k, kind := range kinds {
		p.put(`<text x="0" y="%d">%s</text>`, k*cell+12, safe(term.CutMiddle(kind, 40)))
	}
	for i := range weights {
		at, w := placeOf(weights[i].Name), &weights[i]
		row := slices.Index(kinds, at.kind)
		if row < 0 || at.layer >= layers && layers > 0 || w.Lost.N == 0 {
			continue
		}
		p.put(`<rect x="%d" y="%d" width="%d" height="%d" fill="%s"><title>%s: %.4g (%v)</title></rect>`, left+cell*(at.layer+1), row*cell, cell-1, cell-1,
			shade(w.Lost.RelativeRMSE(), most), safe(w.Name), w.Lost.RelativeRMSE(), w.Type)
	}
	for n := 0; n < layers; n += 4 {
		p.put(`<text x="%d" y="%d">%d</text>`, left+cell*(n+1), cell*len(kinds)+12, n)
	}
	p.put("</svg>")
}

// bars draws a horizontal bar for each label.
func (p *lossPage) bars(labels []string, sizes []float64, text func(i int) string) {
	most := slices.Max(append([]float64{0}, sizes...))
	p.draw(780, 22*len(labels)+4)
	for i, label := range labels {
		width := 0.0
		if most > 0 {
			width = 500 * sizes[i] / most
		}
		p.put(`<text x="0" y="%d">%s</text><rect x="150" y="%d" width="%.1f" height="16" fill="#4472b0"/><text x="%.1f" y="%d">%s</text>`,
			22*i+14, safe(label), 22*i+2, width, 156+width, 22*i+14, safe(text(i)))
	}
	p.put("</svg>")
}

func (p *lossPage) types(weights []convert.QuantizedWeight) {
	var labels []string
	var sizes []float64
	for i := range weights {
		name := weights[i].Type.String()
		at := slices.Index(labels, name)
		if at < 0 {
			at, labels, sizes = len(labels), append(labels, name), append(sizes, 0)
		}
		sizes[at] += float64(weights[i].After)
	}
	p.put("<h2>Bytes by type</h2>")
	p.bars(labels, sizes, func(i int) string { return term.Bytes(int64(sizes[i])) })
}

// histogram draws how many numbers are in weights of which relative RMSE.
func (p *lossPage) histogram(weights []convert.QuantizedWeight) {
	const bins = 16
	most := 0.0
	for i := range weights {
		most = max(most, weights[i].Lost.RelativeRMSE())
	}
	var labels []string
	sizes := make([]float64, bins)
	for i := range bins {
		labels = append(labels, fmt.Sprintf("to %.3g", most*float64(i+1)/bins))
	}
	for i := range weights {
		if w := &weights[i]; w.Lost.N > 0 && most > 0 {
			sizes[min(bins-1, int(w.Lost.RelativeRMSE()/most*bins))] += float64(w.Elements)
		}
	}
	p.put("<h2>Numbers by relative RMSE of their weight</h2>")
	p.bars(labels, sizes, func(i int) string { return term.Count(int64(sizes[i])) })
}

func (p *lossPage) worst(weights []convert.QuantizedWeight) {
	var list []weightLost
	for i := range weights {
		if w := &weights[i]; w.Lost.N > 0 {
			list = append(list, weightLost{w.Name, &w.Lost, w.Type.String()})
		}
	}
	slices.SortStableFunc(list, func(a, b weightLost) int { return cmp.Compare(b.lost.RelativeRMSE(), a.lost.RelativeRMSE()) })
	p.put("<h2>Largest relative RMSE</h2>")
	p.table(list[:min(len(list), 25)])
}
