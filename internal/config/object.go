package config

import (
	"math"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An Object is a JSON object in the order of its text. Its values are string,
// bool, float64, nil, []any or *Object. A nil object has no members.
type Object struct {
	Order  []string
	Values map[string]any
}

// Parse reads a JSON value whole.
func Parse(b *limits.Budget, text strictjson.Text) (v any, err error) {
	err = strictjson.Decode(b, text, func(d *strictjson.Decoder) error {
		v, err = tree(b, d)
		return err
	})
	return v, err
}

// NodeCost is what one value of a tree takes beside its text: an entry of a map
// or a slot of a list.
const NodeCost = 64

func tree(b *limits.Budget, d *strictjson.Decoder) (any, error) {
	if err := b.Hold(NodeCost); err != nil {
		return nil, err
	}
	kind, err := d.Kind()
	if err != nil {
		return nil, err
	}
	switch kind {
	case strictjson.Object:
		o := &Object{Values: map[string]any{}}
		return o, d.Object(func(name string) (err error) {
			if o.Values[name], err = tree(b, d); err == nil {
				o.Order, err = limits.Append(b, o.Order, name)
			}
			return err
		})
	case strictjson.Array:
		var list []any
		err := d.Array(func(int) error {
			v, err := tree(b, d)
			if err == nil {
				list, err = limits.Append(b, list, v)
			}
			return err
		})
		return list, err
	case strictjson.String:
		return d.String()
	case strictjson.Bool:
		return d.Bool()
	case strictjson.Null:
		return nil, d.Null()
	default:
		return d.Float()
	}
}

// Get is a member, or nil.
func (o *Object) Get(name string) any {
	if o == nil {
		return nil
	}
	return o.Values[name]
}

// Names lists the members in the order of the text.
func (o *Object) Names() []string {
	if o == nil {
		return nil
	}
	return o.Order
}

// At follows names to an object, or gives nil.
func (o *Object) At(path ...string) *Object {
	for _, name := range path {
		o, _ = o.Get(name).(*Object)
	}
	return o
}

func (o *Object) Text(name string) string {
	s, _ := o.Get(name).(string)
	return s
}

func (o *Object) List(name string) []any {
	list, _ := o.Get(name).([]any)
	return list
}

// Whole is an integer of the object; ok is false where there is none.
func (o *Object) Whole(name string) (n int64, ok bool) { return WholeOf(o.Get(name)) }

// WholeOf is a value that is an integer, of those that every float64 up to it is.
func WholeOf(v any) (n int64, ok bool) {
	f, isNumber := v.(float64)
	if !isNumber || math.Abs(f) > 1<<53 {
		return 0, false
	}
	n = int64(f)
	return n, float64(n) == f
}

// Says is a value as text; what says nothing is empty, a list of several too long
// to be understood.
func Says(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if v {
			return "true"
		}
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []any:
		if len(v) == 0 {
			return ""
		}
	case *Object:
		if len(v.Order) == 0 {
			return ""
		}
	}
	return "..."
}
