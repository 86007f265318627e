package parser_test

import (
	"errors"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
)

// A program asks for causes and options without the packages that made them.
func TestCausesAndOptionsAreExported(t *testing.T) {
	err := wire.At("gguf", `key 2 "a"`, 0x40, wire.ErrDuplicate.Errorf("key %s, %s decides", wire.Quote("a"), wire.OptionMeta))
	if !errors.Is(err, parser.ErrDuplicate) || errors.Is(err, parser.ErrOverlap) {
		t.Errorf("%v is not a duplicate alone", err)
	}
	if got := parser.OptionsOf(err); len(got) != 1 || got[0] != "convert.Options.Meta" {
		t.Errorf("options %v", got)
	}
}
