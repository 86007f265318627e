package strictjson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

func used(b *limits.Budget, axis limits.Axis) limits.AxisUsage {
	for _, u := range b.Usage() {
		if u.Axis == axis {
			return u
		}
	}
	panic("internal error: no such axis")
}

func TestEachCeilingEndsTheReading(t *testing.T) {
	many := "{" + strings.Repeat(`"\u0061":[{}],`, 0)
	for i := range 40 {
		many += fmt.Sprintf(`"\u0061%d":["x",{}],`, i)
	}
	many += `"z":0}`
	for _, c := range []struct {
		axis   limits.Axis
		policy limits.Policy
	}{
		{limits.Depth, limits.Policy{MaxDepth: 2}},
		{limits.Items, limits.Policy{MaxItems: 10}},
		{limits.Items, limits.Policy{MaxItems: 120}},
		{limits.StepCount, limits.Policy{MaxSteps: 10}},
		{limits.Total, limits.Policy{MaxTotalBytes: 40}},
		{limits.Total, limits.Policy{MaxTotalBytes: 400}},
		{limits.SingleAlloc, limits.Policy{MaxSingleAlloc: 4}},
		{limits.SingleAlloc, limits.Policy{MaxSingleAlloc: 100}},
	} {
		b := account(t, c.policy)
		err := strictjson.Decode(b, strictjson.Text{Format: "test", Body: many}, skip)
		if e, ok := errors.AsType[*limits.Error](err); !ok || e.Axis != c.axis {
			t.Errorf("%v of %+v: %v", c.axis, c.policy, err)
		}
		at, ok := errors.AsType[*wire.Error](err)
		if !ok || at.Off < 0 || at.Off > int64(len(many)) {
			t.Errorf("%v: no place: %v", c.axis, err)
		}
		if u := used(b, limits.Depth); u.Used != 0 {
			t.Errorf("%v: %d levels left open", c.axis, u.Used)
		}
	}
}

func TestChargesAreAsDocumented(t *testing.T) {
	b := account(t, limits.Policy{})
	text := `{"a":[1,2,[3]],"b":{"c":"d"},"e":["f",null]}`
	if err := strictjson.Decode(b, strictjson.Text{Body: text}, skip); err != nil {
		t.Fatal(err)
	}
	if got := used(b, limits.Items).Used; got != 4+1+1 { // members, an array and a string in arrays
		t.Errorf("%d items", got)
	}
	if got := used(b, limits.Depth); got.Used != 0 || got.Peak != 3 {
		t.Errorf("depth %+v", got)
	}
	if got := used(b, limits.Total).Peak; got != 0 {
		t.Errorf("%d bytes for a text without escapes", got)
	}
}

func TestReadingTakesNoMemoryForPlainText(t *testing.T) {
	b := account(t, limits.Policy{MaxItems: 1 << 40, MaxSteps: 1 << 40})
	text := strictjson.Text{Body: `{"a":[1,2,3],"name":"some text","nested":{"x":true,"y":null},"fields":{"p":0,"q":1}}`}
	fields := []string{"p", "q"}
	nums := make([]uint64, 0, 8)
	read := func(d *strictjson.Decoder) error {
		return d.Object(func(name string) error {
			switch name {
			case "a":
				_, err := d.Uints(nums, 10)
				return err
			case "name":
				_, err := d.String()
				return err
			case "fields":
				_, err := d.Fields(fields, func(int) error { return nil })
				return err
			}
			return nil
		})
	}
	got := testing.AllocsPerRun(100, func() {
		if err := strictjson.Decode(b, text, read); err != nil {
			t.Fatal(err)
		}
	})
	if got > 1 { // the decoder itself
		t.Errorf("%v allocations", got)
	}
}

func TestGrowthOfNumbersIsCharged(t *testing.T) {
	b := account(t, limits.Policy{MaxTotalBytes: 1000})
	err := strictjson.Decode(b, strictjson.Text{Body: "[" + strings.Repeat("1,", 200) + "1]"}, func(d *strictjson.Decoder) error {
		_, err := d.Uints(nil, 1)
		return err
	})
	if !errors.Is(err, limits.ErrLimit) {
		t.Error(err)
	}
}

// In an object of a thousand names, some of them escaped, whose size is not known in advance, every
// duplicate is found and no other name is refused.
func TestDuplicatesAmongManyNames(t *testing.T) {
	name := func(i int) string {
		if i%7 == 0 {
			return fmt.Sprintf(`"na\u006de\t%d"`, i)
		}
		return fmt.Sprintf(`"name\t%d"`, i)
	}
	for _, hint := range []int{0, 500, 5000, -1, 1<<31 - 1} {
		for _, twice := range []int{-1, 0, 6, 7, 8, 31, 499, 998} {
			var s strings.Builder
			s.WriteString("{")
			for i := range 1000 {
				fmt.Fprintf(&s, "%s:0,", name(i))
			}
			at := s.Len()
			if twice < 0 {
				s.WriteString(`"x":0}`)
			} else {
				fmt.Fprintf(&s, "%s:0}", name(twice))
			}
			err := decode(t, s.String(), false, func(d *strictjson.Decoder) error {
				return d.ObjectOf(hint, func(string) error { return nil })
			})
			off, cause := problem(err)
			if twice < 0 && err != nil || twice >= 0 && (cause != error(wire.ErrDuplicate) || off != int64(at)) {
				t.Errorf("hint %d, name %d twice: %v", hint, twice, err)
			}
		}
	}
}
