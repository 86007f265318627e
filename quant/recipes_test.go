package quant_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
)

// causes are the words of the tables for causes.
var causes = map[string]*wire.Cause{
	"syntax": wire.ErrSyntax, "range": wire.ErrRange, "overflow": wire.ErrOverflow, "duplicate": wire.ErrDuplicate, "mismatch": wire.ErrMismatch,
	"missing": wire.ErrMissing, "unsupported": wire.ErrUnsupported, "text": wire.ErrText, "usage": wire.ErrUsage,
}

// caseOptions reads the options of a case.
func caseOptions(t *testing.T, c *corpus.Case) (o quant.Options, transposed bool) {
	t.Helper()
	for _, option := range c.Options {
		name, value, _ := strings.Cut(option, " ")
		switch name {
		case "folder":
			o.Folder = true
		case "fold":
			o.FoldPreQuant = true
		case "mlx":
			o.As = quant.AsMLX
		case "scheme":
			o.Scheme = value
		case "zeros":
			o.GPTQZeros = value
		case "block":
			if _, err := fmt.Sscanf(value, "%dx%d", &o.Block[0], &o.Block[1]); err != nil {
				t.Fatal(err)
			}
		case "ignore":
			o.IgnoreUnknown = append(o.IgnoreUnknown, value)
		case "transposed":
			transposed = true
		default:
			t.Fatalf("unknown option %q", option)
		}
	}
	return o, transposed
}

// decodeCase opens the model of a case and decodes every weight of it, as amn dequantize does.
func decodeCase(t *testing.T, c *corpus.Case) error {
	t.Helper()
	o, transposed := caseOptions(t, c)
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	m, err := parser.OpenFS(b, c.Files, c.Open)
	if err != nil {
		t.Fatalf("%s: %s: it is not opened: %v", c.Path(), c.Name, err)
	}
	defer m.Close()
	bound, err := quant.Plan(b, m, o)
	if err != nil {
		return err
	}
	for i := range bound.Weights {
		if !transposed {
			break
		}
		if bound.Weights[i], err = quant.Transpose(bound.Weights[i]); err != nil {
			return err
		}
	}
	for _, err := range bound.All(b, m, o.Target) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Each model of the tables is refused, by its class, for its cause and at its place.
func TestEachQuantizedModelOfTheTablesIsRefused(t *testing.T) {
	for _, c := range corpus.Quant() {
		t.Run(c.Table+"/"+c.Name, func(t *testing.T) {
			err := decodeCase(t, &c)
			got := wire.ClassOf(err).String()
			if limit, ok := errors.AsType[*limits.Error](err); ok {
				got += " " + limit.Axis.String()
			} else {
				for word, cause := range causes {
					if errors.Is(err, cause) {
						got += " " + word
					}
				}
			}
			if at, ok := errors.AsType[*wire.Error](err); ok && at.Where != "" {
				got += " " + at.Where
			}
			if want := strings.TrimSpace(c.Expect + " " + c.Cause + " " + c.Place); got != want {
				t.Errorf("%s: %s\nnot: %s\n%v", c.Path(), got, want, err)
			}
		})
	}
}
