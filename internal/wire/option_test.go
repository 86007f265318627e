package wire_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A message says the option as the library spells it, and the error keeps it for
// a program that calls it otherwise.
func TestErrorsKeepTheOptionsThatTheyName(t *testing.T) {
	err := wire.ErrUnsupported.Errorf("two readings, %s and %s: %s decides", "A", "B", wire.OptionScheme)
	if got := err.Error(); got != "not supported: two readings, A and B: quant.Options.Scheme decides" {
		t.Error(got)
	}
	if !errors.Is(err, wire.ErrUnsupported) {
		t.Errorf("%v has lost its cause", err)
	}
	placed := fmt.Errorf("more: %w", wire.At("quant", "tensor 1", wire.NoOffset, err))
	if got := wire.OptionsOf(placed); !slices.Equal(got, []wire.Option{wire.OptionScheme}) {
		t.Errorf("options %v", got)
	}
	for _, none := range []error{nil, errors.New("x"), wire.ErrRange.Errorf("%d", 7)} {
		if got := wire.OptionsOf(none); len(got) != 0 {
			t.Errorf("%v names %v", none, got)
		}
	}
}
