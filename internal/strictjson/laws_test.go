package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// written are the forms in which RFC 8259 lets a string be written, and some that it does not.
var written = []string{
	"a", "é", "€", "😀", `\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`, `\u0041`, `\u00e9`, `\u0000`, `\uABCD`, `\uabcd`, `\u9999`, `\uffff`, `\ud7ff`, `\ue000`,
	`\ud83d\ude00`, `\uD800\uDC00`, `\udbff\udfff`, `\ud800`, `\udc00`, `\udfff\ud800`, `\ud800\u0041`, `\ud800\ue000`, `\ud800\ud800`, `\ud800x`, `\ud800\n`, `\x41`, `\u004`, `\`, `\u`, "\x80", "\n",
}

// A string is what encoding/json reads, unless half of a pair or a byte that is no UTF-8 is in
// it, which encoding/json replaces. Its escapes cost what their text has bytes, and only where they
// are resolved.
func TestStringsAreThoseOfASecondReader(t *testing.T) {
	for _, before := range []int{0, 1, 2, 6, 7, 8, 9} {
		for _, one := range written {
			for _, two := range append(written, "") {
				raw := strings.Repeat("x", before) + one + two
				body := `"` + raw + `"`
				var want string
				valid := json.Unmarshal([]byte(body), &want) == nil && !strings.Contains(want, "\ufffd")
				for _, end := range []string{"", " "} {
					b := limits.Policy{}.Budget(t.Context())
					var got string
					err := strictjson.Decode(b, strictjson.Text{Format: "test", Body: body + end}, func(d *strictjson.Decoder) (err error) {
						got, err = d.String()
						return err
					})
					if (err == nil) != valid || valid && got != want {
						t.Fatalf("%s: %q, %v; encoding/json has %q, %v", body, got, err, want, valid)
					}
					costs := int64(0)
					if valid && strings.Contains(raw, `\`) {
						costs = int64(len(raw))
					}
					if used := limitstest.Used(b, limits.Total); valid && used != costs {
						t.Fatalf("%s: %d bytes charged, not %d", body, used, costs)
					}
					before := limitstest.Used(b, limits.Total)
					if err := strictjson.Decode(b, strictjson.Text{Body: body + end}, skip); (err == nil) != valid || limitstest.Used(b, limits.Total) != before {
						t.Fatalf("%s is passed over: %v, %d bytes more", body, err, limitstest.Used(b, limits.Total)-before)
					}
					b.Close()
				}
			}
		}
	}
}

// Every byte at every place of an escape is taken where encoding/json takes it.
func TestEveryByteOfAnEscape(t *testing.T) {
	for _, whole := range []string{`\u00e9`, `\ud83d\ude00`, `\n`} {
		for at := range len(whole) {
			for c := range 256 {
				text := []byte(whole)
				text[at] = byte(c)
				body := `"` + string(text) + `"`
				var want, got string
				valid := json.Unmarshal([]byte(body), &want) == nil && !strings.Contains(want, "\ufffd")
				err := decode(t, body, false, func(d *strictjson.Decoder) (err error) { got, err = d.String(); return err })
				if (err == nil) != valid || valid && got != want {
					t.Fatalf("%s: %q, %v; encoding/json has %q, %v", body, got, err, want, valid)
				}
			}
		}
	}
}

// An escape that is wrong is refused at its first byte, the second of a pair at that of the pair,
// and without the bytes of its text the account refuses a string at its quote.
func TestWhereAStringIsRefused(t *testing.T) {
	for body, want := range map[string]int64{
		`"ab\x"`: 3, `"ab\u00g0"`: 3, `"ab\udc00"`: 3, `"ab\ud800x"`: 3, `"ab\ud800\x"`: 3, `"ab\ud800\u0041"`: 3, `"ab\ud800\u00g1"`: 9, "\"ab\x01\"": 3, "\"ab\xff\"": 3,
	} {
		if off, cause := problem(decode(t, body, false, skip)); off != want || cause == nil {
			t.Errorf("%s: at %d, not %d; %v", body, off, want, cause)
		}
	}
	b := account(t, limits.Policy{MaxTotalBytes: 6})
	for body, fits := range map[string]bool{`  "abcd\n"`: true, `  "abcde\n"`: false} {
		err := strictjson.Decode(b, strictjson.Text{Format: "test", Body: body, Off: 100}, func(d *strictjson.Decoder) error { _, err := d.String(); return err })
		if off, _ := problem(err); (err == nil) != fits || !fits && (!errors.Is(err, limits.ErrLimit) || off != 2) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

var (
	plainInteger = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
	plainNumber  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// numbers are texts that are numbers or nearly so.
func numbers() (list []string) {
	const alphabet = "019.eEdD+-:/"
	for n, from := 0, 0; n < 4; n++ {
		if n == 0 {
			list = append(list, "")
			continue
		}
		to := len(list)
		for ; from < to; from++ {
			for _, c := range alphabet {
				list = append(list, list[from]+string(c))
			}
		}
	}
	for _, edge := range []string{"9223372036854775807", "18446744073709551615", "10000000000000000000", "9999999999999999999", "99999999999999999999", "20000000000000000000", "36893488147419103232", "100000000000000000000", "184467440737095516160"} {
		n, _ := new(big.Int).SetString(edge, 10)
		for d := int64(-2); d <= 2; d++ {
			one := new(big.Int).Add(n, big.NewInt(d)).String()
			list = append(list, one, "-"+one, "0"+one, one+".0", one+"e1")
		}
	}
	return append(list, "1e308", "1e309", "-1e309", "1e-999", "1.7976931348623157e308", "0.1", "123456789.123456789")
}

// A number is read as its grammar says, and has the value of its digits: as an integer of at most
// a limit, alone and in a list, as one with a sign, and as a float.
func TestNumbersHaveTheValueOfTheirDigits(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxSteps: 1 << 40, MaxTotalBytes: 1 << 40, MaxItems: 1 << 40, Timeout: limits.NoTimeout})
	read := func(body string, f func(d *strictjson.Decoder) error) error {
		return strictjson.Decode(b, strictjson.Text{Format: "test", Body: body}, f)
	}
	low, high := big.NewInt(-1<<63+1), big.NewInt(1<<63-1)
	low.Sub(low, big.NewInt(1))
	for _, text := range numbers() {
		value, _ := new(big.Int).SetString(text, 10)
		for _, limit := range []uint64{0, 1, 9, 10, 1<<63 - 1, 1e19, 1<<64 - 2, 1<<64 - 1} {
			fits := plainInteger.MatchString(text) && value.Cmp(new(big.Int).SetUint64(limit)) <= 0
			var n uint64
			if err := read(text, func(d *strictjson.Decoder) (err error) { n, err = d.Uint(limit); return err }); (err == nil) != fits || fits && n != value.Uint64() {
				t.Fatalf("Uint(%d) of %s: %d, %v", limit, text, n, err)
			}
			for _, form := range []string{"[%s]", "[ %s ]", "[%s,1]", "[%s ,1]", "[1,%s]", "[1, %s]"} {
				var list []uint64
				fits := fits && (limit >= 1 || !strings.Contains(form, "1"))
				err := read(fmt.Sprintf(form, text), func(d *strictjson.Decoder) (err error) { list, err = d.Uints(nil, limit); return err })
				at := strings.Count(form[:strings.Index(form, "%")], "1")
				if text != "" && (err == nil) != fits || fits && (len(list) != strings.Count(form, ",")+1 || list[at] != value.Uint64()) {
					t.Fatalf("Uints(%d) of "+form+": %v, %v", limit, text, list, err)
				}
			}
		}
		signed := strings.TrimPrefix(text, "-")
		fits := plainInteger.MatchString(signed) && text != "-0" && value.Cmp(low) >= 0 && value.Cmp(high) <= 0
		var n int64
		err := read(text, func(d *strictjson.Decoder) (err error) { n, err = d.Int(); return err })
		if (err == nil) != fits || fits && n != value.Int64() {
			t.Fatalf("Int of %s: %d, %v", text, n, err)
		}
		isNumber := plainNumber.MatchString(text)
		want, rangeErr := strconv.ParseFloat(text, 64)
		var as string
		var f float64
		if err := read(text, func(d *strictjson.Decoder) (err error) { as, f, err = d.Finite(); return err }); (err == nil) != (isNumber && rangeErr == nil) || err == nil && (as != text || f != want) {
			t.Fatalf("Finite of %s: %q, %v, %v", text, as, f, err)
		}
		if err := read(text, skip); (err == nil) != isNumber {
			t.Fatalf("%s is passed over: %v", text, err)
		}
	}
	for text, want := range map[string]int64{"  -0": 2, "  -a": 2, "  -": 3, "  01": 2, "  1.5": 2} {
		off, _ := problem(decode(t, text, false, func(d *strictjson.Decoder) error { _, err := d.Int(); return err }))
		if off != want {
			t.Errorf("Int of %q fails at %d, not %d", text, off, want)
		}
	}
}

// An object is refused if two of its names are one after their escapes are resolved, however many
// there are and in whatever form they are written, and else has them all.
func TestNamesAreComparedAsTheyAreRead(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	letters := []string{"a", "b", `\u0061`, `\u0062`, "/", `\/`, "é", `\u00e9`, `\"`, "ab"}
	for range 4000 {
		count := random.IntN(40)
		var body strings.Builder
		want, twice := []string{}, false
		seen := map[string]bool{}
		for i := range count {
			raw := ""
			for range random.IntN(9) {
				raw += letters[random.IntN(len(letters))]
			}
			if random.IntN(3) > 0 {
				raw = strconv.Itoa(i) + raw
			}
			var name string
			if err := json.Unmarshal([]byte(`"`+raw+`"`), &name); err != nil {
				t.Fatal(raw, err)
			}
			twice = twice || seen[name]
			seen[name] = true
			want = append(want, name)
			fmt.Fprintf(&body, `,"%s":%d`, raw, i)
		}
		text := "{" + strings.TrimPrefix(body.String(), ",") + "}"
		hint := random.IntN(50)
		var got []string
		err := decode(t, text, true, func(d *strictjson.Decoder) error {
			return d.ObjectOf(hint, func(name string) error { got = append(got, name); return nil })
		})
		if errors.Is(err, wire.ErrDuplicate) != twice || (err == nil) == twice {
			t.Fatalf("%s: %v", text, err)
		}
		if !twice && strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Fatalf("%s: %q", text, got)
		}
	}
}

// What an object of many names holds: from the ninth on five bytes a slot, in tables of a power of
// two that is at least twice as many as there are names, or will be as far as is known.
func TestNamesCostTheirSlots(t *testing.T) {
	for _, hint := range []int{0, 16, 17, 100, 1 << 30} {
		for count := range 140 {
			var names []string
			for i := range count {
				names = append(names, fmt.Sprintf(`"%d":0`, i))
			}
			body := "{" + strings.Join(names, ",") + "}"
			b := limits.Policy{}.Budget(t.Context())
			if err := strictjson.Decode(b, strictjson.Text{Body: body}, func(d *strictjson.Decoder) error {
				return d.ObjectOf(hint, func(string) error { return nil })
			}); err != nil {
				t.Fatal(err)
			}
			want, size := 0, 0
			for n := 9; n <= count; n++ {
				if size >= 2*n {
					continue
				}
				for size = 32; size < 2*n || size < 2*min(hint, len(body)); {
					size *= 2
				}
				want += 5 * size
			}
			if used := limitstest.Used(b, limits.Total); used != int64(want) {
				t.Fatalf("%d names, %d expected: %d bytes, not %d", count, hint, used, want)
			}
			if used := limitstest.Used(b, limits.Items); used != int64(count) {
				t.Fatalf("%d names: %d items", count, used)
			}
			b.Close()
		}
	}
}

// Items are charged by 32, and the rest at the end; each value, each number of a list and each name
// of a known member is a step.
func TestWhatIsReadIsCounted(t *testing.T) {
	charged := map[string][]int64{}
	limitstest.Watch(t, func(axis string, n int64) { charged[axis] = append(charged[axis], n) })
	sum := func(axis limits.Axis) (n int64) {
		for _, one := range charged[axis.String()] {
			n += one
		}
		return n
	}
	for n := range 100 {
		clear(charged)
		list := strings.Repeat(`,"x"`, n)
		if err := decode(t, "["+strings.TrimPrefix(list, ",")+"]", true, skip); err != nil {
			t.Fatal(err)
		}
		if got := charged[limits.Items.String()]; sum(limits.Items) != int64(n) || len(got) > n/32+1 || n >= 32 && got[0] != 32 {
			t.Errorf("%d texts: items %v", n, got)
		}
		if got := sum(limits.StepCount); got != int64(n)+1 {
			t.Errorf("%d texts: %d steps", n, got)
		}
		for _, form := range []string{",7", ", 7", " ,7"} {
			clear(charged)
			list = strings.TrimLeft(strings.Repeat(form, n), " ,")
			if err := decode(t, "["+list+"]", true, func(d *strictjson.Decoder) error { _, err := d.Uints(nil, 9); return err }); err != nil {
				t.Fatal(err)
			}
			if got := sum(limits.StepCount); got != int64(n)+1 || sum(limits.Items) != 0 {
				t.Errorf("%d numbers %q: %d steps, %d items", n, form, got, sum(limits.Items))
			}
		}
	}
	known := []string{"a", "b", "c"}
	for body, steps := range map[string]int64{`{}`: 1, `{"a":1}`: 3, `{"a":1,"b":2,"c":3}`: 7, `{"c":1,"a":2}`: 7, `{"\u0061":1}`: 4} {
		clear(charged)
		if err := decode(t, body, true, func(d *strictjson.Decoder) error {
			_, err := d.Fields(known, func(int) error { return nil })
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if got := sum(limits.StepCount); got != steps {
			t.Errorf("%s: %d steps, not %d", body, got, steps)
		}
	}
}

// Each refusal of the account ends the reading with its error, wherever it comes.
func TestEveryRefusedChargeEndsTheReading(t *testing.T) {
	body := `{"a\n":[1,"x",{"y":[[2]]}],"b":{` + strings.Repeat(`"%d":"",`, 40) + `"z":null}}`
	for i := range 40 {
		body = strings.Replace(body, "%d", strconv.Itoa(i), 1)
	}
	read := func(d *strictjson.Decoder) error {
		_, err := d.Fields([]string{"a\n", "b"}, func(i int) error {
			if i == 1 {
				return nil
			}
			return d.Array(func(int) error { return nil })
		})
		return err
	}
	total := 0
	limitstest.Refuse(t, func(string, int64) bool { total++; return false })
	if err := decode(t, body, true, read); err != nil || total < 8 {
		t.Fatal(total, err)
	}
	for refused := range total {
		n := 0
		limitstest.Refuse(t, func(string, int64) bool { n++; return n == refused+1 })
		if err := decode(t, body, true, read); !errors.Is(err, limits.ErrLimit) {
			t.Errorf("charge %d of %d is refused: %v", refused, total, err)
		}
	}
	for steps := int64(1); ; steps++ {
		err := strictjson.Decode(account(t, limits.Policy{MaxSteps: steps}), strictjson.Text{Body: body}, read)
		if err == nil {
			if steps < 50 {
				t.Errorf("%d steps suffice", steps)
			}
			break
		}
		if !errors.Is(err, limits.ErrLimit) {
			t.Fatalf("%d steps: %v", steps, err)
		}
	}
}

// A text is read in pieces, whole and from its offset; a reader that fails in any piece, and a
// caller that no longer waits, end it.
func TestTextsOfSeveralPieces(t *testing.T) {
	const piece = 64 << 10
	file := make([]byte, 3*piece+40)
	for i := range file {
		file[i] = byte(i ^ i>>8)
	}
	for _, n := range []int64{0, 1, piece - 1, piece, piece + 1, 2*piece + 7} {
		for _, off := range []int64{0, 5} {
			want := string(file[off : off+n])
			b := account(t, limits.Policy{})
			if got, err := strictjson.ReadAt(b, bytes.NewReader(file), off, n); err != nil || got != want {
				t.Errorf("ReadAt %d at %d: %d bytes, %v", n, off, len(got), err)
			}
			if used := limitstest.Used(b, limits.Total); used != n+min(n, piece) {
				t.Errorf("ReadAt %d at %d: %d bytes charged", n, off, used)
			}
			b = account(t, limits.Policy{})
			if got, err := strictjson.Read(b, bytes.NewReader(file[off:]), off, n); err != nil || got != want {
				t.Errorf("Read %d at %d: %d bytes, %v", n, off, len(got), err)
			}
			if used := limitstest.Used(b, limits.Total); used < n || used > n+n/64+1024 {
				t.Errorf("Read %d at %d: %d bytes held", n, off, used)
			}
			for broken := int64(0); broken < n; broken += piece {
				failing := io.MultiReader(bytes.NewReader(file[:broken]), errorReader{})
				if _, err := strictjson.Read(account(t, limits.Policy{}), failing, 0, n); !errors.Is(err, faulty.ErrDisk) {
					t.Errorf("Read %d fails at %d: %v", n, broken, err)
				}
				if _, err := strictjson.ReadAt(account(t, limits.Policy{}), brokenAt{file, broken}, 0, n); !errors.Is(err, faulty.ErrDisk) {
					t.Errorf("ReadAt %d fails at %d: %v", n, broken, err)
				}
				_, err := strictjson.Read(account(t, limits.Policy{}), bytes.NewReader(file[:broken]), 100, n)
				if !errors.Is(err, wire.ErrTruncated) || !strings.Contains(err.Error(), fmt.Sprintf("%#x", 100+broken)) {
					t.Errorf("Read %d ends at %d: %v", n, broken, err)
				}
			}
		}
	}
	for refused := range 12 {
		n := 0
		limitstest.Refuse(t, func(string, int64) bool { n++; return n == refused+1 })
		got, err := strictjson.Read(account(t, limits.Policy{}), bytes.NewReader(file), 0, 2*piece)
		if n > refused && !errors.Is(err, limits.ErrLimit) || n <= refused && (err != nil || len(got) != 2*piece) {
			t.Errorf("charge %d is refused: %d bytes, %v", refused, len(got), err)
		}
		n = 0
		got, err = strictjson.ReadAt(account(t, limits.Policy{}), bytes.NewReader(file), 0, 2*piece)
		if n > refused && !errors.Is(err, limits.ErrLimit) || n <= refused && (err != nil || len(got) != 2*piece) {
			t.Errorf("charge %d is refused: %d bytes, %v", refused, len(got), err)
		}
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, faulty.ErrDisk }

// A brokenAt is a file whose reader fails from an offset on.
type brokenAt struct {
	file []byte
	off  int64
}

func (b brokenAt) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > b.off {
		return copy(p, b.file[min(off, b.off):b.off]), faulty.ErrDisk
	}
	return copy(p, b.file[off:]), nil
}

// A name that differs only in case from a known one is reported, and no other.
func TestNamesThatDifferInCase(t *testing.T) {
	for name, want := range map[string]string{"size": "", "Size": "size", "SIZE": "size", "NAME": "name", "sizes": "", "": ""} {
		if got, is := strictjson.Folded(name, "size", "name"); got != want || is != (want != "") {
			t.Errorf("%q: %q, %t", name, got, is)
		}
	}
}
