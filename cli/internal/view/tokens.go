package view

import (
	"fmt"
	"math"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/limits"
)

// memorySizes returns the tokens and sequences to estimate memory for, 0 without --context.
func (c *Inspect) memorySizes() (tokens, batch int64, err error) {
	if c.Context == "" {
		return 0, 0, nil
	}
	if tokens, err = flags.Positive(parseTokens(c.Context)); err != nil {
		return 0, 0, fault.Usage("--context: " + err.Error())
	}
	if batch, err = flags.Positive(limits.ParseCount(c.Batch)); err != nil {
		return 0, 0, fault.Usage("--batch: " + err.Error())
	}
	return tokens, batch, nil
}

// parseTokens parses a number of tokens as models state it: 8k is 8192, 1m is 1048576.
func parseTokens(text string) (int64, error) {
	digits, unit := text, int64(1)
	switch {
	case strings.HasSuffix(text, "k"), strings.HasSuffix(text, "K"):
		digits, unit = text[:len(text)-1], 1<<10
	case strings.HasSuffix(text, "m"), strings.HasSuffix(text, "M"):
		digits, unit = text[:len(text)-1], 1<<20
	}
	n, err := limits.ParseCount(digits)
	if err == nil && n > math.MaxInt64/unit {
		err = fmt.Errorf("%s is more than 2^63-1", text)
	}
	return n * unit, err
}
