package command

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A Value is a field that parses its values itself.
type Value interface{ Set(text string) error }

// A BoolValue is a Value for which --flag alone is possible, if IsBool returns true: Set then
// gets "true". A value is given by --flag=value.
type BoolValue interface {
	Value
	IsBool() bool
}

// A value parses the words for a field.
type value struct {
	set  func(text string) error // nil if the field's type is not supported
	bool bool                    // no value follows the flag
	help bool
}

// Help is the type of the help flag.
type Help bool

func newValue(field reflect.Value, sep string) value {
	if own, ok := field.Addr().Interface().(Value); ok {
		b, isBool := own.(BoolValue)
		return value{set: own.Set, bool: isBool && b.IsBool()}
	}
	if field.Kind() == reflect.Slice {
		return value{set: listSetter(field, sep)}
	}
	_, help := field.Addr().Interface().(*Help)
	return value{set: setter(field), bool: field.Kind() == reflect.Bool, help: help}
}

// listSetter returns a function that appends to a slice.
func listSetter(field reflect.Value, sep string) func(string) error {
	item := reflect.New(field.Type().Elem()).Elem()
	set := setter(item)
	if set == nil {
		return nil
	}
	return func(text string) error {
		list := []string{text}
		if sep != "" {
			list = strings.Split(text, sep)
		}
		for _, s := range list {
			if err := set(s); err != nil {
				return err
			}
			field.Set(reflect.Append(field, item))
		}
		return nil
	}
}

// setter returns a function that sets a field that is not a slice, nil for other types.
func setter(field reflect.Value) func(string) error {
	if d, ok := field.Addr().Interface().(*time.Duration); ok {
		return func(text string) (err error) {
			if *d, err = time.ParseDuration(text); err != nil {
				return fmt.Errorf(`%q is not a duration: write "30s", "5m" or "1h30m"`, text)
			}
			return nil
		}
	}
	switch field.Kind() {
	case reflect.String:
		return func(text string) error {
			field.SetString(text)
			return nil
		}
	case reflect.Bool:
		return func(text string) error {
			on, err := parseBool(text)
			field.SetBool(on)
			return err
		}
	case reflect.Int, reflect.Int64:
		return func(text string) error {
			n, err := strconv.ParseInt(text, 0, field.Type().Bits())
			if errors.Is(err, strconv.ErrRange) {
				return fmt.Errorf("%s is too large", text)
			}
			if err != nil {
				return fmt.Errorf("%q is not a whole number", text)
			}
			field.SetInt(n)
			return nil
		}
	}
	return nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "1":
		return true, nil
	case "false", "no", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}
