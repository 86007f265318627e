package view

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/stats"
)

// Stats prints statistics of the numbers of models.
type Stats struct {
	Paths     []string `arg:"" name:"path" help:"Files, folders of models, or ollama:NAME."`
	Recursive bool     `short:"r" help:"Include subfolders."`
	Tensor    []string `placeholder:"GLOB" help:"Read only tensors whose name matches: * is any text, ? one character, [a-z] one of a range. Repeatable."`
	Stored    bool     `help:"Read tensors as they are stored, codes and scales separately, instead of decoded weights."`
	Threads   int      `placeholder:"N" help:"Maximum number of workers (default: all processors)."`

	flags.SourceFlags `embed:""`
	flags.TensorsFlag `embed:""`
}

func (Stats) Help() string {
	return `Reads all numbers once, with quantized weights decoded, and prints for each tensor: minimum,
maximum, mean and standard deviation of the finite numbers, the share of zeros, and the counts of
NaN and infinities. For up to three tensors, and with --json, also a histogram by powers of two,
which shows what a narrower type would lose.`
}

func (Stats) Examples() []run.Example {
	return []run.Example{
		{Command: "amn stats model.safetensors", What: "What numbers are in it?"},
		{Command: "amn stats --tensor 'blk.0.attn_q*' tiny.gguf", What: "Of a few tensors, with their magnitudes."},
		{Command: "amn verify --finite model.safetensors", What: "Are any NaN or infinite?"},
	}
}

// Validate checks the flags.
func (c *Stats) Validate() error {
	if c.Threads < 0 {
		return errors.New("--threads: give a number of workers")
	}
	return c.SourceFlags.Validate()
}

// maxCharts is the largest number of tensors for which histograms are drawn.
const maxCharts = 3

// Run implements the command.
func (c *Stats) Run(ctx context.Context, s *run.Run) error {
	c.Grant(s)
	if err := flags.Globs(c.Tensor).Check(); err != nil {
		return err
	}
	read, none := 0, 0 // models, and those without a matching name
	for _, arg := range c.Paths {
		if arg == "-" {
			return fault.Usage("amn stats reads files, not standard input")
		}
		for src, err := range s.Found(ctx, arg, c.Recursive) {
			var list []stats.Tensor
			var m tensor.Model
			if err == nil {
				m, list, err = c.readModel(ctx, s, src)
			}
			if err, ok := errors.AsType[fault.Interrupted](err); ok {
				return err
			}
			if read++; err == nil && len(list) == 0 && len(c.Tensor) > 0 {
				none++
				continue
			}
			if err := c.print(s, src.Path, m, list, err); err != nil {
				return err
			}
		}
	}
	if read > 0 && read == none {
		return fault.Usage("--tensor: no tensor name matches")
	}
	return nil
}

// readModel reads one model. It returns the model closed, for its format.
func (c *Stats) readModel(ctx context.Context, s *run.Run, src run.Source) (tensor.Model, []stats.Tensor, error) {
	b := s.Policy.Long().Budget(ctx)
	defer b.Close()
	m, err := src.Open(b)
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	report.PrintSkipped(s, src.Path, m)
	o := stats.Options{Workers: c.Threads, Stored: c.Stored, Quant: *c.Options("f32")}
	if len(c.Tensor) > 0 {
		o.Keep = flags.Globs(c.Tensor).Match
	}
	if err := report.VerifyGated(s, b, m); err != nil {
		return m, nil, err
	}
	list, err := report.ReadNumbers(s, b, "reading "+term.Path(src.Path), m, o)
	return m, list, err
}

func (c *Stats) print(s *run.Run, path string, m tensor.Model, list []stats.Tensor, err error) error {
	s.Count.Note(err)
	if s.JSON {
		jsonStats(s.Out.Writer, path, m, list, err)
	} else if err == nil {
		printStats(s, path, m, list)
	}
	if err != nil {
		s.PrintError(path, err)
		return nil
	}
	return s.Out.Flush()
}

// statHead has the titles of the columns.
var statHead = []string{"type", "shape", "min", "max", "mean", "std", "zeros", "NaN", "inf", "tensor"}

func printStats(s *run.Run, path string, m tensor.Model, list []stats.Tensor) {
	if s.Out.Printed {
		s.Out.WriteByte('\n')
	}
	s.Out.Printed = true
	fmt.Fprintf(s.Out, "%s: %s, %s\n", term.Path(path), report.TitleOf(m.Format()), term.Plural(int64(len(list)), "tensor"))
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b stats.Tensor) int { return wire.Natural(a.Name, b.Name) })
	rows := [][]string{statHead}
	for i := range list {
		rows = append(rows, statRow(&list[i]))
	}
	wide := term.Widths(rows)
	s.Out.Table(rows, wide, visibleColumns(s, rows, wide))
	if len(list) <= maxCharts {
		for i := range list {
			chart(s, &list[i])
		}
	}
}

// droppableColumns are the columns that are dropped on a narrow terminal, in this order:
// first those whose values are all usual, then type and shape, which amn parse prints.
var droppableColumns = []struct {
	column int
	usual  string // the column is dropped if all rows have this value; "" drops it in any case
}{{8, "0"}, {7, "0"}, {6, "0.0%"}, {1, ""}, {0, ""}}

// visibleColumns returns the columns that fit the terminal.
func visibleColumns(s *run.Run, rows [][]string, wide []int) []int {
	keep := make([]int, len(statHead))
	for k := range keep {
		keep[k] = k
	}
	for _, l := range droppableColumns {
		names := wide[len(wide)-1] // whole, or enough of them
		if l.usual == "" {
			names = min(names, 30)
		}
		if s.Out.Columns == 0 || s.Out.Columns-term.WidthBefore(wide, keep) >= names {
			break
		}
		if l.usual == "" || !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[l.column] != l.usual && row[l.column] != "-" }) {
			keep = slices.DeleteFunc(keep, func(k int) bool { return k == l.column })
		}
	}
	return keep
}

func statRow(t *stats.Tensor) []string {
	row := []string{term.Tidy(t.Type, 64), term.Shape(t.Shape), "-", "-", "-", "-", "-", "-", "-", term.Name(t.Name)}
	if !t.Numbers {
		return row
	}
	if t.Elements > t.NaN+t.Infinite {
		for k, f := range []float64{t.Min, t.Max, t.Mean, t.Std} {
			row[2+k] = strconv.FormatFloat(f, 'g', 4, 64)
		}
		row[6] = strconv.FormatFloat(100*float64(t.Zeros)/float64(t.Elements), 'f', 1, 64) + "%"
	}
	row[7], row[8] = term.Count(t.NaN), term.Count(t.Infinite)
	return row
}

// chartWidth is the width of the longest bar.
const chartWidth = 40

// chart draws a histogram of magnitudes.
func chart(s *run.Run, t *stats.Tensor) {
	var most int64
	for _, b := range t.Bins {
		most = max(most, b.Negative+b.Positive)
	}
	if most == 0 {
		return
	}
	fmt.Fprintf(s.Out, "\n  %s, by magnitude\n", term.Name(t.Name))
	for k := len(t.Bins) - 1; k >= 0; k-- {
		b := t.Bins[k]
		n := b.Negative + b.Positive
		bar := int(math.Ceil(float64(n) / float64(most) * chartWidth))
		fmt.Fprintf(s.Out, "  %6s  %s %s\n", "2^"+strconv.Itoa(b.Exp), strings.Repeat("█", bar), term.Count(n))
	}
}

// jsonStats writes one object in one line.
func jsonStats(w *bufio.Writer, path string, m tensor.Model, list []stats.Tensor, err error) {
	jsonout.Write(w, func(o *jsonout.Object) {
		o.Field("schema", "amn.stats/1")
		o.Text("path", path)
		r := report.Report{Model: m, Err: err}
		o.Field("format", r.Format())
		o.Field("class", r.Class().String())
		o.Field("exit", r.Class().ExitCode())
		if err != nil {
			o.Object("error", func(o *jsonout.Object) { fault.JSON(o, err) })
			return
		}
		o.List("tensors", func(add func(func(*jsonout.Object))) {
			for i := range list {
				add(func(o *jsonout.Object) { jsonStat(o, &list[i]) })
			}
		})
	})
	w.WriteByte('\n')
}

func jsonStat(o *jsonout.Object, t *stats.Tensor) {
	o.Text("name", t.Name)
	o.Text("type", t.Type)
	o.Field("shape", append([]int64{}, t.Shape...))
	o.Number("elements", t.Elements)
	if !t.Numbers {
		return
	}
	o.Number("zeros", t.Zeros)
	o.Number("nan", t.NaN)
	o.Number("infinite", t.Infinite)
	if t.First >= 0 {
		o.Number("first", t.First)
	}
	if t.Elements > t.NaN+t.Infinite {
		for _, f := range []struct {
			name string
			v    float64
		}{{"min", t.Min}, {"max", t.Max}, {"mean", t.Mean}, {"std", t.Std}} {
			if f.v-f.v == 0 { // a sum may be more than float64 holds
				o.Float(f.name, f.v, 64)
			}
		}
	}
	o.List("bins", func(add func(func(*jsonout.Object))) {
		for _, b := range t.Bins {
			add(func(o *jsonout.Object) {
				o.Number("exp", int64(b.Exp))
				o.Number("negative", b.Negative)
				o.Number("positive", b.Positive)
			})
		}
	})
}
