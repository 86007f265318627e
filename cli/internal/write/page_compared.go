package write

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
)

// writeComparedPage writes a page that plots error against size.
func writeComparedPage(w *bufio.Writer, src *conversionState, list []targetResult) {
	p := &lossPage{w: w}
	p.begin("Targets compared: " + term.Path(src.path))
	front := unbeaten(list)
	var points []point
	for i := range list {
		r := &list[i]
		if r.refused != nil {
			continue
		}
		kind := "beaten"
		if front[i] {
			kind = "front"
		}
		points = append(points, point{r.bits, r.lost.RelativeRMSE(), cutLabel(r.name), kind, fmt.Sprintf("%s: %.3f bits, %.4g", r.name, r.bits, r.lost.RelativeRMSE())})
	}
	p.put("<h2>Error against size</h2>")
	p.put(`<p class="soft">Filled: no other target here has both fewer bits and a smaller error.</p>`)
	newChart(points).draw(w, "relative RMSE against bits per weight of each target, as in the table below", "bits per weight", "relative RMSE")
	p.put(`<div class="wide" tabindex="0"><table><tr><th scope="col">target</th><th scope="col">size</th><th scope="col">bits</th><th scope="col">mean error</th>` +
		`<th scope="col">relative RMSE</th><th scope="col">largest</th><th scope="col">cosine</th><th scope="col">SNR, dB</th></tr>`)
	for i := range list {
		r := &list[i]
		if r.refused != nil {
			p.put(`<tr><td>%s</td><td colspan="7" class="why">refused: %s</td></tr>`, safe(r.name), safe(fault.Text(r.refused)))
			continue
		}
		p.put("<tr><td>%s (%s)</td><td>%s</td><td>%.3f</td><td>%.4g</td><td>%.4g</td><td>%.4g</td><td>%.6f</td><td>%s</td></tr>", safe(r.name), safe(r.layout),
			term.Bytes(r.size), r.bits, r.lost.MAE(), r.lost.RelativeRMSE(), r.lost.Max, r.lost.Cosine(), decibels(&r.lost))
	}
	p.put("</table></div>")
	p.end()
}

// unbeaten reports of each target whether no other has fewer bits and a smaller error, or one of both
// and the other alike.
func unbeaten(list []targetResult) []bool {
	out := make([]bool, len(list))
	for i := range list {
		r := &list[i]
		out[i] = r.refused == nil && !slices.ContainsFunc(list, func(o targetResult) bool {
			bits, loss := cmp.Compare(o.bits, r.bits), cmp.Compare(o.lost.RelativeRMSE(), r.lost.RelativeRMSE())
			return o.refused == nil && bits <= 0 && loss <= 0 && bits+loss < 0
		})
	}
	return out
}
