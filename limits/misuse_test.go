package limits_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/google/go-cmp/cmp"
)

// calls calls every exported method of what new returns, each time with one choice of
// arguments, and gives its results to look.
func calls(t *testing.T, fresh func() any, amounts []int64, look func(t *testing.T, on any, results []any, amounts int)) {
	t.Helper()
	kind := reflect.TypeOf(fresh())
	for i := range kind.NumMethod() {
		m := kind.Method(i)
		t.Run(m.Name, func(t *testing.T) {
			for _, amount := range amounts {
				on := fresh()
				args, sized := []reflect.Value{reflect.ValueOf(on)}, 0
				for a := 1; a < m.Type.NumIn(); a++ {
					in := m.Type.In(a)
					switch {
					case in.Kind() == reflect.Int64:
						sized++
						args = append(args, reflect.ValueOf(amount))
					case in == reflect.TypeFor[context.Context]():
						args = append(args, reflect.ValueOf(t.Context()))
					case in == reflect.TypeFor[error]():
						args = append(args, reflect.ValueOf(errors.New("of another account")))
					default:
						args = append(args, reflect.Zero(in))
					}
				}
				var results []any
				for _, r := range m.Func.Call(args) {
					results = append(results, r.Interface())
				}
				look(t, on, results, sized)
			}
		})
	}
}

// refuses fails the test if one of the results lets something be charged.
func refuses(t *testing.T, results []any, returnsError bool) {
	t.Helper()
	for i, r := range results {
		switch r := r.(type) {
		case *limits.Budget:
			if r.Err() == nil || r.Hold(0) == nil || r.Step(0) == nil || r.Enter() == nil {
				t.Errorf("it opens an account that grants something")
			}
			r.Close()
			r.Close()
		case limits.Steps:
			if r.Step() == nil {
				t.Error("its steps are granted")
			}
		case limits.Workspace:
			if r.Hold(0) == nil || r.Alloc(0) == nil {
				t.Error("its workspace grants something")
			}
		case limits.Inflation:
			if r.Add(0, 0) == nil {
				t.Error("its stream grants something")
			}
		case limits.Compressed:
			if r.Read(0) == nil || r.Made(0) == nil {
				t.Error("its decoder reads something")
			}
		case *limits.Policy:
			if r.Validate() == nil || !r.RefusesFormat("gguf") || !r.RefusesFinding("gguf.gaps") {
				t.Error("its policy allows something")
			}
		case context.Context:
			if r.Err() == nil {
				t.Error("its context goes on")
			}
		case bool:
			if r {
				t.Error("it says yes")
			}
		case func():
			r()
			r()
		case error:
			if !strings.Contains(r.Error(), " ") {
				t.Errorf("not a sentence: %v", r)
			}
		case nil:
			if returnsError && i == len(results)-1 {
				t.Error("no error")
			}
		}
	}
}

// Each method of an account that was never opened refuses and does not panic. The test finds the
// methods by reflection, so that it covers new ones.
func TestAnAccountThatDoesNotExistRefusesEverything(t *testing.T) {
	var texts *limits.Texts
	var none context.Context
	for name, fresh := range map[string]func() any{
		"nil":             func() any { return (*limits.Budget)(nil) },
		"zero":            func() any { return new(limits.Budget) },
		"child of nil":    func() any { return (*limits.Budget)(nil).Child(limits.Policy{}) },
		"holding of zero": func() any { return new(limits.Budget).Holding() },
		"nil context":     func() any { return limits.Policy{}.Budget(none) },
		"nil steps":       func() any { return (*limits.Steps)(nil) },
		"zero steps":      func() any { return new(limits.Steps) },
		"nil workspace":   func() any { return (*limits.Workspace)(nil) },
		"zero workspace":  func() any { return new(limits.Workspace) },
		"nil stream":      func() any { return (*limits.Inflation)(nil) },
		"zero stream":     func() any { return new(limits.Inflation) },
		"nil decoder":     func() any { return (*limits.Compressed)(nil) },
		"zero decoder":    func() any { return new(limits.Compressed) },
	} {
		t.Run(name, func(t *testing.T) {
			calls(t, fresh, []int64{0, 1, -1}, func(t *testing.T, _ any, results []any, _ int) {
				if _, policy := at(results, 0).(*limits.Policy); policy && name != "nil" && name != "zero" {
					return // it has the policy that it was opened with
				}
				refuses(t, results, true)
			})
		})
	}
	for name, err := range map[string]error{
		"make for nobody":  second(limits.Make[byte](nil, 1)),
		"make for nil":     second(limits.Make[byte]((*limits.Budget)(nil), 1)),
		"grow for nil":     second(limits.Grow((*limits.Budget)(nil), []byte(nil), 1)),
		"append for nil":   second(limits.Append((*limits.Workspace)(nil), []byte(nil), 1)),
		"clone for nobody": second(limits.Clone(nil, []byte(nil))),
		"text for nobody":  second(limits.String(nil, nil)),
		"texts of nil":     second(texts.String(nil, nil)),
		"texts for nil":    second(new(limits.Texts).String(nil, []byte("x"))),
	} {
		if !errors.Is(err, limits.ErrNoAccount) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func at(results []any, i int) any {
	if i >= 0 && i < len(results) {
		return results[i]
	}
	return nil
}

func second[T any](_ T, err error) error { return err }

// A closed account refuses like one that never was, except for what only tells.
func TestAClosedAccountRefusesEverything(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{})
	calls(t, func() any {
		b := host.Child(limits.Policy{})
		must(t, b.Hold(5))
		b.Close()
		return b
	}, []int64{0, 1, 5}, func(t *testing.T, on any, results []any, _ int) {
		if _, policy := at(results, 0).(*limits.Policy); policy {
			return
		}
		refuses(t, results, true)
		if err, ok := at(results, len(results)-1).(error); ok && !errors.Is(err, limits.ErrClosed) {
			t.Errorf("%v does not say that the account is closed", err)
		}
		limitstest.NoLeak(t, host)
	})
}

// A negative amount is an error that says so, and changes nothing.
func TestANegativeAmountIsRefused(t *testing.T) {
	live := func() any {
		b := limitstest.Open(t, limits.Policy{})
		must(t, b.Hold(5))
		must(t, b.Enter())
		return b
	}
	negative := func(t *testing.T, account *limits.Budget, results []any, amounts int) {
		if amounts == 0 {
			return
		}
		refuses(t, results, true)
		for _, r := range results {
			if err, ok := r.(error); ok && !errors.Is(err, limits.ErrAmount) {
				t.Errorf("got %v", err)
			}
		}
		want := live().(*limits.Budget).Usage()
		if d := cmp.Diff(want[:limits.Time], account.Usage()[:limits.Time]); d != "" {
			t.Error(d)
		}
	}
	calls(t, live, []int64{-1, -1 << 63}, func(t *testing.T, on any, results []any, amounts int) {
		negative(t, on.(*limits.Budget), results, amounts)
	})
	var of *limits.Budget
	for name, fresh := range map[string]func() any{
		"workspace": func() any { of = live().(*limits.Budget); w := of.Workspace(); return &w },
		"stream":    func() any { of = live().(*limits.Budget); i := of.Inflation(); return &i },
		"decoder":   func() any { of = live().(*limits.Budget); c := of.Compressed(); return &c },
	} {
		t.Run(name, func(t *testing.T) {
			calls(t, fresh, []int64{-1, -1 << 63}, func(t *testing.T, _ any, results []any, amounts int) {
				negative(t, of, results, amounts)
			})
		})
	}
}

// Measured before: Drop(100) on a fresh account made room for 100 more.
func TestReturningMoreThanWasChargedIsRefused(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{MaxTotalBytes: 100, MaxDepth: 2})
	b := host.Child(limits.Policy{MaxTotalBytes: 50, MaxDepth: 1})
	defer b.Close()
	must(t, host.Hold(30))
	w := b.Workspace()
	must(t, w.Hold(5))
	for name, err := range map[string]error{
		"a fresh byte": b.Drop(100), "one too many": b.Drop(6), "of another account": b.Drop(30),
		"of the workspace": w.Drop(6), "a level": b.Leave(),
	} {
		if !errors.Is(err, limits.ErrAmount) || !strings.Contains(fmt.Sprint(err), "held") {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused(t, b.Hold(46), limits.Error{Axis: limits.Total, Want: 46, Left: 45})
	refused(t, host.Hold(66), limits.Error{Axis: limits.Total, Want: 66, Left: 65})
	w.Close()
	must(t, host.Drop(30))
}
