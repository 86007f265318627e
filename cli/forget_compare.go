package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/mix"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A compared is what one target came to.
type compared struct {
	name, layout string
	size         int64   // of all that would be written
	bits         float64 // by number that is quantized
	weights      int
	lost         quant.Distortion
}

// nowhere takes what is written only to be measured.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// quantizerOf is the quantizer and the sink of a target by its name.
func (c *forgetCmd) quantizerOf(b *limits.Budget, name string) (convert.Quantizer, convert.Sink, error) {
	if kind, ok := convert.ParseBnbType(name); ok {
		return c.bnbFlags.quantizer(kind), nil, nil
	}
	if isScaled(name) {
		return c.bnbFlags.scaled(name), nil, nil
	}
	m, ok := mix.Find(name)
	if !ok {
		return nil, nil, usage{fmt.Sprintf("--compare: %q is no target (amn formats lists them)", name)}
	}
	q, err := c.ggmlFlags.quantizer(m)
	if err != nil {
		return nil, nil, usage{err.Error()}
	}
	q.Measure = true
	if len(c.Exclude) > 0 {
		q.Exclude = globs(c.Exclude).match
	}
	return q, convert.GGUF{RawNames: true}, c.ggmlFlags.readMatrix(b, &q)
}

// measured plans a target and encodes the model to nowhere.
func (s *session) measured(b *limits.Budget, w *written, what string, o convert.Options) (*convert.Plan, error) {
	p, err := convert.NewPlan(b, w.model, o)
	if err != nil {
		return nil, err
	}
	files := make([]io.WriterAt, 0, 1)
	for range p.Files {
		files = append(files, nowhere{})
	}
	defer s.progress("measuring "+what, p.Progress)()
	_, err = p.Stream(files...)
	return p, err
}

// compare measures what several targets take, and writes no model.
func (c *forgetCmd) compare(ctx context.Context, s *session) error {
	b := s.longPolicy().Budget(ctx)
	defer b.Close()
	w := &written{path: string(c.Path)}
	list, err := c.compareAll(ctx, s, b, w)
	if w.model != nil {
		defer w.model.Close()
	}
	s.note(err)
	if err != nil {
		s.complain(w.path, err)
		return nil
	}
	if s.json {
		return s.printComparedJSON(w, list)
	}
	s.line("%-16s %10s %7s %14s %9s  %s", "target", "size", "bits", "relative RMSE", "SNR, dB", "cosine")
	for i := range list {
		r := &list[i]
		s.line("%-16s %10s %7.3f %14.4g %9s  %.6f", r.name, formatBytes(r.size), r.bits, r.lost.RelativeRMSE(), decibels(&r.lost), r.lost.Cosine())
	}
	return s.out.Flush()
}

func (c *forgetCmd) compareAll(ctx context.Context, s *session, b *limits.Budget, w *written) ([]compared, error) {
	if err := admitPage(string(c.Report.page), c.Force); err != nil {
		return nil, err
	}
	if err := s.openFor(ctx, b, w, string(c.Weights)); err != nil {
		return nil, err
	}
	c.Report.on = true
	var list []compared
	for _, name := range strings.Split(c.Compare, ",") {
		one := b.Probe() // what a target needs is given back
		r, err := c.compareOne(s, one, w, name)
		one.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, r)
	}
	if c.Report.page == "" {
		return list, nil
	}
	m, err := newManifest(string(c.Report.page))
	if err != nil {
		return nil, err
	}
	defer m.close()
	writeComparedPage(m.w, w, list)
	return list, m.done()
}

func (c *forgetCmd) compareOne(s *session, b *limits.Budget, w *written, name string) (compared, error) {
	q, sink, err := c.quantizerOf(b, name)
	if err != nil {
		return compared{}, err
	}
	o := convert.Options{Quant: *c.options(c.OutDtype, c.sourceBlock()), Quantize: q, Sink: sink, Alone: true, Keep: c.keep(), Threads: c.Threads}
	p, err := s.measured(b, w, name, o)
	if err != nil {
		return compared{}, err
	}
	e := p.Quantized
	r := compared{name: name, layout: e.Layout, size: p.Size, weights: len(e.Weights), lost: e.Lost()}
	var numbers, after int64
	for i := range e.Weights {
		numbers, after = addCap(numbers, e.Weights[i].Elements), addCap(after, e.Weights[i].After)
	}
	if numbers > 0 {
		r.bits = 8 * float64(after) / float64(numbers)
	}
	return r, nil
}

func (s *session) printComparedJSON(w *written, list []compared) error {
	object(s.out, func(o *jsonObject) {
		o.field("schema", "amn.compare/1")
		o.text("path", w.path)
		o.list("targets", func(add func(func(*jsonObject))) {
			for i := range list {
				add(func(o *jsonObject) {
					r := &list[i]
					o.field("target", r.name)
					o.field("layout", r.layout)
					o.number("bytes", r.size)
					o.number("weights", int64(r.weights))
					o.float("bits", r.bits, 64)
					jsonLost(o, &r.lost)
				})
			}
		})
	})
	if err := s.out.WriteByte('\n'); err != nil {
		return err
	}
	return s.out.Flush()
}

// writeComparedPage draws size against error.
func writeComparedPage(w *bufio.Writer, src *written, list []compared) {
	p := &lossPage{w}
	p.begin("Targets compared: " + showPath(src.path))
	bits, loss := 0.0, 0.0
	for i := range list {
		bits, loss = math.Max(bits, list[i].bits), math.Max(loss, list[i].lost.RelativeRMSE())
	}
	p.put("<h2>Relative RMSE against bits by number</h2>")
	p.put(`<svg width="760" height="420" role="img"><path d="M50 10V370H740" fill="none" stroke="#888"/>`)
	p.put(`<text x="640" y="395">bits, to %.3g</text><text x="55" y="20">relative RMSE, to %.4g</text>`, bits, loss)
	for i := range list {
		r := &list[i]
		if bits == 0 || loss == 0 {
			break
		}
		x, y := 50+660*r.bits/bits, 370-340*r.lost.RelativeRMSE()/loss
		p.put(`<circle cx="%.1f" cy="%.1f" r="4" fill="#a50f15"/><text x="%.1f" y="%.1f">%s</text>`, x, y, x+7, y-5, safe(r.name))
	}
	p.put("</svg>")
	p.put("<table><tr><th>target</th><th>size</th><th>bits</th><th>mean error</th><th>relative RMSE</th><th>largest</th><th>cosine</th><th>SNR, dB</th></tr>")
	for i := range list {
		r := &list[i]
		p.put("<tr><td>%s (%s)</td><td>%s</td><td>%.3f</td><td>%.4g</td><td>%.4g</td><td>%.4g</td><td>%.6f</td><td>%s</td></tr>", safe(r.name), safe(r.layout),
			formatBytes(r.size), r.bits, r.lost.MAE(), r.lost.RelativeRMSE(), r.lost.Max, r.lost.Cosine(), decibels(&r.lost))
	}
	p.put("</table>")
	p.end()
}
