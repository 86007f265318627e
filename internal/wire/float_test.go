package wire_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

func TestFloatIsPaidByWhatItTakes(t *testing.T) {
	for _, c := range []struct {
		text  string
		steps int64
	}{
		{"0", 2},
		{"-1.5", 2},
		{"1e-290", 2},
		{"0.000123", 2},
		{"9007199254740993", 6}, // halfway between two floats
		{"-0.1234567890123456", 6},
		{"1e-310", 32 + 309}, // subnormal
		{"5E-324", 32 + 323},
		{"0." + strings.Repeat("0", 310) + "1", 32 + 310},
		{"1.2345678901234567890", 32 + 1 + 10},
		{"1" + strings.Repeat("0", 4000), 32 + 400 + 2000},
		{"1e99999999999", 32 + 400},
		{"1e", 2},
	} {
		if n := wire.FloatSteps(c.text); n != c.steps {
			t.Errorf("%.40s takes %d steps, not %d", c.text, n, c.steps)
		}
	}
}

func TestFloatReadsWhatStrconvReads(t *testing.T) {
	free := func(int64) error { return nil }
	for _, text := range []string{"1", "1e-310", "9007199254740993", "1e400", "x", "", "-inf", "4.9e-324", "0x1p-2"} {
		for _, bits := range []int{32, 64} {
			want, bad := strconv.ParseFloat(text, bits)
			f, ok, err := wire.Float(text, bits, free)
			if f != want || ok != (bad == nil) || err != nil {
				t.Errorf("%q: %v, %v, %v; strconv has %v, %v", text, f, ok, err, want, bad)
			}
		}
	}
	broke := errors.New("broke")
	if _, ok, err := wire.Float("1", 64, func(int64) error { return broke }); ok || err != broke {
		t.Errorf("a number that is not paid gives %v, %v", ok, err)
	}
}
