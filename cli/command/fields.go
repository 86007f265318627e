package command

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// fields reads the tags of the target's struct.
func (c *Command) fields() {
	v := reflect.ValueOf(c.Target)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("internal error: %s: %T is no pointer to a struct", c.Name, c.Target))
	}
	c.embed(v.Elem(), "")
}

// embed adds the fields of a struct; group is that of flags which name none.
func (c *Command) embed(v reflect.Value, group string) {
	target := reflect.NewAt(v.Type(), v.Addr().UnsafePointer()) // not v.Addr(): an embedded type may be unexported
	if check, ok := target.Interface().(checker); ok {
		c.checkers = append(c.checkers, check)
	}
	for i := range v.NumField() {
		field, tag := v.Field(i), tags{v.Type().Field(i)}
		switch {
		case tag.Anonymous, tag.has("embed"):
			c.embed(field, tag.or("group", group))
		case tag.has("cmd"):
			child := New(tag.name(), tag.Tag.Get("help"), field.Addr().Interface())
			if c.Add(child); tag.Tag.Get("default") == "withargs" {
				c.meant = child
			}
		case tag.has("help"):
			c.add(field, tag, group)
		}
	}
}

// add adds the flag or the argument of a field.
func (c *Command) add(field reflect.Value, tag tags, group string) {
	val, fallback := newValue(field, tag.Tag.Get("sep")), tag.Tag.Get("default")
	if val.set == nil {
		panic(fmt.Sprintf("internal error: %s: no word is parsed into a %s", tag.Name, tag.Type))
	}
	if fallback != "" {
		if err := val.set(fallback); err != nil {
			panic(fmt.Sprintf("internal error: %s: its default: %v", tag.Name, err))
		}
	}
	help := strings.ReplaceAll(tag.Tag.Get("help"), "${default}", fallback)
	if tag.has("arg") {
		c.Args = append(c.Args, &Arg{
			Name: tag.name(), Help: help, Enum: tag.list("enum"), Optional: tag.has("optional"),
			Many: field.Kind() == reflect.Slice, value: val,
		})
		return
	}
	var short rune
	for _, short = range tag.Tag.Get("short") {
	}
	c.Flags = append(c.Flags, &Flag{
		Name: tag.name(), Help: help, Placeholder: tag.Tag.Get("placeholder"), Group: tag.or("group", group),
		Short: short, Enum: tag.list("enum"), negatable: tag.has("negatable"), value: val,
	})
}

// tags are those of a field.
type tags struct{ reflect.StructField }

func (t tags) has(key string) bool {
	_, ok := t.Tag.Lookup(key)
	return ok
}

func (t tags) or(key, other string) string {
	if s := t.Tag.Get(key); s != "" {
		return s
	}
	return other
}

func (t tags) list(key string) []string {
	return strings.FieldsFunc(t.Tag.Get(key), func(r rune) bool { return r == ',' })
}

func (t tags) name() string { return t.or("name", dashed(t.Name)) }

// dashed is the name of a field as that of a flag: MaxTotal is max-total, GGUFType gguf-type.
func dashed(name string) string {
	var b strings.Builder
	list := []rune(name)
	for i, r := range list {
		if unicode.IsUpper(r) && i > 0 &&
			(unicode.IsLower(list[i-1]) || i+1 < len(list) && unicode.IsLower(list[i+1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
