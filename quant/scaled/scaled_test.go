package scaled

import (
	"encoding/binary"
	"math"
	"os"
	"testing"
)

// Each code's number is encoded as that code, what lies between two as the nearer,
// and the middle as the even one. The numbers are those of ml_dtypes.
func TestNumbersAreRoundedToE4M3(t *testing.T) {
	table, err := os.ReadFile("../../testdata/quant/codes_F8_E4M3.f32")
	if err != nil {
		t.Fatal(err)
	}
	value := func(c int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(table[4*c:])) }
	for c := range 0x7F {
		for sign, x := range map[int]float32{0: value(c), 0x80: value(c | 0x80)} {
			if got := ToE4M3(x); int(got) != c|sign {
				t.Errorf("%v is %#x, want %#x", x, got, c|sign)
			}
			if got := FromE4M3(byte(c | sign)); math.Float32bits(got) != math.Float32bits(x) {
				t.Errorf("%#x is %v, want %v", c|sign, got, x)
			}
		}
		if c == 0x7E {
			break
		}
		middle := value(c) + (value(c+1)-value(c))/2
		even := c + c&1
		for x, want := range map[float32]int{middle: even, math.Nextafter32(middle, 0): c, math.Nextafter32(middle, 1000): c + 1} {
			if got := ToE4M3(x); int(got) != want {
				t.Errorf("%v is %#x, want %#x", x, got, want)
			}
		}
	}
}
