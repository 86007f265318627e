package wire_test

import (
	"errors"
	"math"
	"math/rand/v2"
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
		{"1e-306", 2},
		{"0.000123", 2},
		{"9007199254740993", 6}, // halfway between two floats
		{"-0.1234567890123456", 6},
		{"1e-310", 32}, // subnormal
		{"5E-324", 32},
		{"0." + strings.Repeat("0", 310) + "1", 32},
		{"1.2345678901234567890", 32 + 2},
		{"1" + strings.Repeat("0", 4000), 32 + 500},
		{"1e99999999999", 32},
		{"1e", 32},
	} {
		if n := wire.FloatSteps(c.text); n != c.steps {
			t.Errorf("%.40s takes %d steps, not %d", c.text, n, c.steps)
		}
	}
}

// same fails unless a text is read as strconv reads it.
func same(t *testing.T, text string) {
	t.Helper()
	want, bad := strconv.ParseFloat(text, 64)
	f, ok, err := wire.Float(text, func(int64) error { return nil })
	if math.Float64bits(f) != math.Float64bits(want) || ok != (bad == nil) || err != nil {
		t.Errorf("%q: %v, %v, %v; strconv has %v, %v", text, f, ok, err, want, bad)
	}
}

func TestFloatReadsWhatStrconvReads(t *testing.T) {
	for _, text := range []string{
		"1", "1e-310", "9007199254740993", "1e400", "x", "", "-inf", "4.9e-324", "0x1p-2", "nan", "1_0", "0x1p-1074", "--1e-310", "+-1", "1e-310x", "e-310", ".e-310", ".5e-310", "5.e-310",
		"-0e-310", "0e999", "-1e-999", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308", "2.2250738585072014e-308", "1.7976931348623157e308", "1.7976931348623158e308",
		"1.7976931348623159e308", "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880",
		"1e-310e1", "1e+-310", "1e 310", "1e-99999999999999999999", "9223372036854775808.5000000000000000000001", "0." + strings.Repeat("0", 400) + strings.Repeat("7", 900) + "e390",
		"1." + strings.Repeat("0", 790) + "1", "9007199254740993." + strings.Repeat("0", 1000), "9007199254740993." + strings.Repeat("0", 1000) + "1",
	} {
		same(t, text)
	}
	// strconv places the point after the 800th digit.
	if f, ok, err := wire.Float(strings.Repeat("9", 2000)+"e-1990", func(int64) error { return nil }); f != 1e10 || !ok || err != nil {
		t.Errorf("2000 nines: %v, %v, %v", f, ok, err)
	}
	broke := errors.New("broke")
	if _, ok, err := wire.Float("1", func(int64) error { return broke }); ok || err != broke {
		t.Errorf("a number that is not paid gives %v, %v", ok, err)
	}
}

// A number halfway between two floats, and its neighbours, are read as strconv reads them, and so is any
// number of any exponent.
func TestFloatRoundsAsStrconvRounds(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 3_000 {
		bits := random.Uint64() >> 1
		if random.IntN(2) == 0 {
			bits >>= 11 + random.IntN(50) // subnormal, or nearly
		}
		f := math.Float64frombits(bits)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		exact := strconv.FormatFloat(f, 'f', 1080, 64)
		above := strconv.FormatFloat(math.Nextafter(f, math.Inf(1)), 'f', 1080, 64)
		for _, text := range []string{exact, halfway(exact, above), halfway(exact, above) + "1", strconv.FormatFloat(f, 'e', random.IntN(30), 64)} {
			same(t, text)
			same(t, "-"+text)
		}
	}
}

// halfway returns the middle of two decimal numbers.
func halfway(x, y string) string {
	for len(x) < len(y) {
		x = "0" + x
	}
	sum, carry := []byte("0"+x), byte(0)
	for i := len(x) - 1; i >= 0; i-- {
		if x[i] == '.' {
			continue
		}
		n := x[i] + y[i] - 2*'0' + carry
		sum[i+1], carry = '0'+n%10, n/10
	}
	sum[0] += carry
	rest := byte(0)
	for i, c := range sum {
		if c == '.' {
			continue
		}
		n := 10*rest + c - '0'
		sum[i], rest = '0'+n/2, n%2
	}
	return string(sum) + string('0'+5*rest)
}
