package vm

import (
	"math/big"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// The values and their hashes are those that CPython 3.11 prints.
func TestHashesOfNumbersAndTuplesAreThoseOfPython(t *testing.T) {
	for _, c := range []struct {
		pickle string
		want   int64
	}{
		{"\x80\x03K\x00.", 0},                                                                    // 0
		{"\x80\x03K\x01.", 1},                                                                    // 1
		{"\x80\x03J\xff\xff\xff\xff.", -2},                                                       // -1
		{"\x80\x03J\xfe\xff\xff\xff.", -2},                                                       // -2
		{"\x80\x03\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x1f.", 0},                                 // 2305843009213693951
		{"\x80\x03\x8a\x08\x00\x00\x00\x00\x00\x00\x00 .", 1},                                    // 2305843009213693952
		{"\x80\x03\x8a\x08\x00\x00\x00\x00\x00\x00\x00\xe0.", -2},                                // -2305843009213693952
		{"\x80\x03\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.", 3},                                 // 9223372036854775807
		{"\x80\x03\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", -4},                                // -9223372036854775808
		{"\x80\x03\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.", 8},                             // 18446744073709551616
		{"\x80\x03\x8a\x0d\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf0.", -549755813881}, // -1267650600228229401496703205369
		{"\x80\x03\x8a\x19\x00\x00\x00\x00\x00\x9f\x0a\x46\x54\x40\x5b\xa3\x5c\xba\x14\x14\xd8\x97\x94\x6b\x38\x3e\x65\xac\x03\x2e", 0},           // 23058430092136939510000000000000000000000000000000000000000
		{"\x80\x03\x8a\x19\xff\xff\xff\xff\xff\x60\xf5\xb9\xab\xbf\xa4\x5c\xa3\x45\xeb\xeb\x27\x68\x6b\x94\xc7\xc1\x9a\x53\xfc\x2e", -2},          // -23058430092136939510000000000000000000000000000000000000001
		{"\x80\x03\x8a\x1a\xc7\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\x2e", -143417}, // -1606938044258990275541962092341162602522202993782792835313721
		{"\x80\x03\x8a\x0d\x00\x00\x00\x40\xea\xed\x74\x46\xd0\x9c\x2c\x9f\x0c\x2e", 465258685558744706},                                          // 1000000000000000000000000000000
		{"\x80\x03G?\xe0\x00\x00\x00\x00\x00\x00.", 1152921504606846976},                                                                          // 0.5
		{"\x80\x03G\xbf\xe0\x00\x00\x00\x00\x00\x00.", -1152921504606846976},                                                                      // -0.5
		{"\x80\x03G~7\xe4<\x88\x00u\x9c.", 1224995262755759164},                                                                                   // 1e+300
		{"\x80\x03G\x01\xb0\x12\x97\xd2:\xb6\x83.", 1876877353711978326},                                                                          // 1.5e-300
		{"\x80\x03G\x7f\xf0\x00\x00\x00\x00\x00\x00.", 314159},                                                                                    // inf
		{"\x80\x03G\xff\xf0\x00\x00\x00\x00\x00\x00.", -314159},                                                                                   // -inf
		{"\x80\x03GC\xc0\x00\x00\x00\x00\x00\x00.", 1},                                                                                            // 2.305843009213694e+18
		{"\x80\x03G?\xb9\x99\x99\x99\x99\x99\x9a.", 230584300921369408},                                                                           // 0.1
		{"\x80\x03cbuiltins\x0acomplex\x0aG?\xf0\x00\x00\x00\x00\x00\x00G@\x00\x00\x00\x00\x00\x00\x00\x86R.", 2000007},                           // (1+2j)
		{"\x80\x03cbuiltins\x0acomplex\x0aG\xbf\xe0\x00\x00\x00\x00\x00\x00G?\xb9\x99\x99\x99\x99\x99\x9a\x86R.", -461168601829938752},            // (-0.5+0.1j)
		{"\x80\x03cbuiltins\x0acomplex\x0aG\x00\x00\x00\x00\x00\x00\x00\x00G\xbf\xf0\x00\x00\x00\x00\x00\x00\x86R.", -2000006},                    // -1j
		{"\x80\x03).", 5740354900026072187},                                                                                                       // ()
		{"\x80\x03K\x01\x85.", -6644214454873602895},                                                                                              // (1,)
		{"\x80\x03K\x01K\x02\x86.", -3550055125485641917},                                                                                         // (1, 2)
		{"\x80\x03J\xff\xff\xff\xffG?\xe0\x00\x00\x00\x00\x00\x00\x86.", -7525882140222211504},                                                    // (-1, 0.5)
		{"\x80\x03K\x01K\x02K\x03\x86\x86.", 7267574591690527098},                                                                                 // (1, (2, 3))
		{"\x80\x03\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00@\x8a\x08\x00\x00\x00\x00\x00\x00\x00\xe0\x86.", -849023711702838944},                   // (1180591620717411303424, -2305843009213693952)
		{"\x80\x03)\x85.", -5486347211504344842},                                                                                                  // ((),)
	} {
		b := limits.Policy{}.Budget(t.Context())
		m := newMachine(b, strings.NewReader(c.pickle), 0, int64(len(c.pickle)))
		if err := m.run(); err != nil {
			t.Fatalf("%q: %v", c.pickle, err)
		}
		if h, known, err := m.lane(m.g.root); err != nil || !known || int64(h) != c.want {
			t.Errorf("%q: %d, %v, %v, want %d", c.pickle, int64(h), known, err, c.want)
		}
		m.release(false)
		b.Close()
	}
}

func TestKeysOfOneHash(t *testing.T) {
	for _, n := range []int{64, 65, 66} {
		var p strings.Builder
		p.WriteString("\x80\x02}(")
		for i := range n { // the multiples of 2^61 - 1
			p.WriteString("((I1\nL" + times(i) + "L\nttK\x00")
		}
		p.WriteString("u.")
		b := limits.Policy{}.Budget(t.Context())
		m := newMachine(b, strings.NewReader(p.String()), 0, int64(p.Len()))
		if err := m.run(); (err == nil) != (n <= sameHash) {
			t.Errorf("%d keys: %v", n, err)
		}
		m.release(false)
		b.Close()
	}
}

func times(i int) string {
	n := new(big.Int).Mul(big.NewInt(hashModulus), big.NewInt(int64(i)))
	return n.String()
}
