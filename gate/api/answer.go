package api

import (
	"net/http"
	"time"

	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/internal/pace"
)

// A pacedWriter cuts a client that does not read its answer: the deadline of each piece is
// that of package pace.
type pacedWriter struct {
	http.ResponseWriter

	control *http.ResponseController
	meter   *pace.Meter
}

// answerPiece is how much of an answer has one deadline.
const answerPiece = 32 << 10

func newPacedWriter(w http.ResponseWriter, o handler.Options) *pacedWriter {
	p := &pacedWriter{ResponseWriter: w, control: http.NewResponseController(w)}
	p.meter = pace.Rule{Idle: o.IdleTimeout, Rate: o.MinRate, Window: o.RateTime, Total: o.UploadTime}.Meter()
	// The deadline of the connection's last answer would end this one. An error means that
	// the connection has no deadlines.
	_ = p.control.SetWriteDeadline(time.Time{})
	return p
}

// Unwrap is for [http.ResponseController].
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *pacedWriter) Write(p []byte) (n int, err error) {
	for first := true; first || len(p) > 0; first = false {
		piece := p[:min(len(p), answerPiece)]
		_ = w.control.SetWriteDeadline(w.meter.Deadline(time.Now()))
		k, err := w.ResponseWriter.Write(piece)
		w.meter.Passed(time.Now(), k)
		if n += k; err != nil {
			return n, err
		}
		p = p[len(piece):]
	}
	return n, nil
}
