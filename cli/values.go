package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/write"
)

// mappers replace those of kong that change values or explain wrong ones less well. Kong passes
// strings through JSON, which loses bytes that are not UTF-8, splits every list at commas, and reads
// 010 as eight.
func mappers() []kong.Option {
	return []kong.Option{
		kong.KindMapper(reflect.String, kong.MapperFunc(decodeString)),
		kong.KindMapper(reflect.Int, kong.MapperFunc(decodeInt)),
		kong.KindMapper(reflect.Int64, kong.MapperFunc(decodeInt)),
		kong.KindMapper(reflect.Slice, kong.MapperFunc(decodeList)),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration)),
		kong.TypeMapper(reflect.TypeFor[write.ReportFlag](), reportMapper{}),
	}
}

// popWord returns the word that is the value of a flag or an argument.
func popWord(ctx *kong.DecodeContext) (string, error) {
	t := ctx.Scan.Pop()
	word := t.String()
	if f := ctx.Value.Flag; f != nil {
		switch {
		case t.IsEOL(), t.Type == kong.UntypedToken && word == "--":
			return "", errors.New("the value is missing")
		case t.Type == kong.UntypedToken && isFlag(word):
			return "", fmt.Errorf("the value is missing; if it is %s, write --%s=%s", word, f.Name, word)
		case t.Type == kong.ShortFlagTailToken:
			word = strings.TrimPrefix(word, "=")
		}
	}
	if ctx.Value.HasDefault && word == ctx.Value.Default {
		return word, nil
	}
	return word, checkEnum(enumOf(ctx.Value), word)
}

// checkEnum rejects a word that is not in enum, unless enum is empty.
func checkEnum(enum []string, word string) error {
	if len(enum) == 0 || slices.Contains(enum, word) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s%s", word, strings.Join(enum, ", "), fault.Nearest(word, enum))
}

func decodeString(ctx *kong.DecodeContext, target reflect.Value) error {
	word, err := popWord(ctx)
	target.SetString(word)
	return err
}

func decodeInt(ctx *kong.DecodeContext, target reflect.Value) error {
	word, err := popWord(ctx)
	if err != nil {
		return err
	}
	n, err := parseInt(word, target.Type().Bits())
	target.SetInt(n)
	return err
}

func parseInt(word string, bits int) (int64, error) {
	n, err := strconv.ParseInt(word, 10, bits)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s is too large", word)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", word)
	}
	return n, nil
}

func decodeDuration(ctx *kong.DecodeContext, target reflect.Value) error {
	word, err := popWord(ctx)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(word)
	if err != nil {
		return fmt.Errorf(`%q is not a duration: write "30s", "5m" or "1h30m"`, word)
	}
	target.SetInt(int64(d))
	return nil
}

// decodeList appends to a list: the value of a flag, which is split only if its tag has a
// separator, or all words that are left.
func decodeList(ctx *kong.DecodeContext, target reflect.Value) error {
	for {
		word, err := popWord(ctx)
		if err != nil {
			return err
		}
		words := []string{word}
		if ctx.Value.Tag.Has("sep") {
			words = strings.Split(word, string(ctx.Value.Tag.Sep))
		}
		for _, w := range words {
			item := reflect.New(target.Type().Elem()).Elem()
			if item.Kind() == reflect.String {
				item.SetString(w)
			} else {
				n, err := parseInt(w, item.Type().Bits())
				if err != nil {
					return err
				}
				item.SetInt(n)
			}
			target.Set(reflect.Append(target, item))
		}
		if ctx.Value.Flag != nil || ctx.Scan.Peek().IsEOL() {
			return nil
		}
	}
}

// A reportMapper reads --report, whose value may be left out.
type reportMapper struct{}

// IsBool implements [kong.BoolMapper].
func (reportMapper) IsBool() bool { return true }

// Decode implements [kong.Mapper].
func (reportMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	text := "true"
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		text = ctx.Scan.Pop().String()
	}
	return target.Addr().Interface().(*write.ReportFlag).Set(text)
}
