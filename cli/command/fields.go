package command

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// read reads the tags of the target's struct, once.
func (c *Command) read() *Command {
	if c.isRead {
		return c
	}
	c.isRead = true
	v := reflect.ValueOf(c.Target)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("internal error: %s: %T is not a pointer to a struct", c.Name, c.Target))
	}
	c.embed(v.Elem(), "")
	return c
}

// embed adds the fields of a struct; group is the group of flags without one.
func (c *Command) embed(v reflect.Value, group string) {
	target := reflect.NewAt(v.Type(), v.Addr().UnsafePointer()) // not v.Addr(): an embedded type may be unexported
	if check, ok := target.Interface().(checker); ok {
		c.checkers = append(c.checkers, check)
	}
	for i := range v.NumField() {
		field, tag := v.Field(i), tagsOf(v.Type().Field(i))
		switch {
		case tag.Anonymous, tag.has("embed"):
			c.embed(field, tag.or("group", group))
		case tag.has("cmd"):
			child := New(tag.name(), tag.get("help"), field.Addr().Interface())
			if c.Add(child); tag.get("default") == "withargs" {
				c.fallback = child
			}
		case tag.has("help"):
			c.add(field, tag, group)
		}
	}
}

// add adds the flag or the argument that a field describes.
func (c *Command) add(field reflect.Value, tag tags, group string) {
	val, fallback := newValue(field, tag.get("sep")), tag.get("default")
	if val.set == nil {
		panic(fmt.Sprintf("internal error: %s: the type %s cannot be parsed", tag.Name, tag.Type))
	}
	if fallback != "" {
		if err := val.set(fallback); err != nil {
			panic(fmt.Sprintf("internal error: %s: its default: %v", tag.Name, err))
		}
	}
	help := strings.ReplaceAll(tag.get("help"), "${default}", fallback)
	if tag.has("arg") {
		c.args = append(c.args, &Arg{
			Name: tag.name(), Help: help, Enum: tag.list("enum"), Optional: tag.has("optional"),
			Many: field.Kind() == reflect.Slice, value: val,
		})
		return
	}
	var short rune
	for _, short = range tag.get("short") {
	}
	c.flags = append(c.flags, &Flag{
		Name: tag.name(), Help: help, Placeholder: tag.get("placeholder"), Group: tag.or("group", group),
		Short: short, Enum: tag.list("enum"), negatable: tag.has("negatable"), value: val,
	})
}

// tags are the tags of a field, split once: each StructTag.Lookup parses all tags before the
// one that it looks for, and the help is long.
type tags struct {
	reflect.StructField
	pairs [][2]string
}

func tagsOf(f reflect.StructField) tags {
	t := tags{StructField: f}
	for rest := string(f.Tag); ; {
		key, value, ok := strings.Cut(strings.TrimLeft(rest, " "), ":")
		if !ok {
			return t
		}
		quoted, err := strconv.QuotedPrefix(value)
		if err != nil {
			panic(fmt.Sprintf("internal error: %s: its tags: %v", f.Name, err))
		}
		rest = value[len(quoted):]
		if value, err = strconv.Unquote(quoted); err == nil {
			t.pairs = append(t.pairs, [2]string{key, value})
		}
	}
}

func (t tags) has(key string) bool {
	return slices.ContainsFunc(t.pairs, func(p [2]string) bool { return p[0] == key })
}

// get returns the value of a key, or "".
func (t tags) get(key string) string { return t.or(key, "") }

func (t tags) or(key, other string) string {
	for _, p := range t.pairs {
		if p[0] == key && p[1] != "" {
			return p[1]
		}
	}
	return other
}

func (t tags) list(key string) []string {
	return strings.FieldsFunc(t.get(key), func(r rune) bool { return r == ',' })
}

func (t tags) name() string { return t.or("name", dashed(t.Name)) }

// dashed returns the flag name of a field: max-total for MaxTotal, gguf-type for GGUFType.
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
