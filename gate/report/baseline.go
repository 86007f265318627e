package report

import (
	"bufio"

	"github.com/anamnesis-go/anamnesis/gate"
)

// baseline writes what [gate.ReadBaseline] reads: the refused files, one per line.
type baseline struct{ wrote bool }

func (*baseline) begin(w *bufio.Writer, _ string) {
	w.WriteString(`{"schema":` + quoted(gate.BaselineSchema) + `,"files":[`)
}

func (l *baseline) file(w *bufio.Writer, f *file) {
	if f.known == nil {
		return
	}
	if l.wrote {
		w.WriteString(",")
	}
	l.wrote = true
	w.WriteString("\n")
	w.Write(encoded(f.known))
}

func (*baseline) end(w *bufio.Writer) { w.WriteString("\n]}\n") }
