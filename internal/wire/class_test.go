package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/google/go-cmp/cmp"
)

func TestClasses(t *testing.T) {
	for _, c := range []struct {
		class      wire.Class
		text       string
		exit, http int
	}{
		{wire.OK, "ok", 0, 200},
		{wire.Internal, "internal", 1, 500},
		{wire.Usage, "usage", 2, 400},
		{wire.Malformed, "malformed", 3, 422},
		{wire.Truncated, "truncated", 4, 422},
		{wire.Unsupported, "unsupported", 5, 415},
		{wire.Limit, "limit", 6, 413},
		{wire.Forbidden, "forbidden", 7, 403},
		{wire.Differs, "differs", 8, 200},
	} {
		if c.class.String() != c.text || c.class.ExitCode() != c.exit || c.class.HTTPStatus() != c.http {
			t.Errorf("%v: exit %d, status %d", c.class, c.class.ExitCode(), c.class.HTTPStatus())
		}
	}
}

// A cause keeps its identity and its class through everything that is put
// around it.
func TestEveryCauseIsFound(t *testing.T) {
	for cause, class := range map[*wire.Cause]wire.Class{
		wire.ErrMagic: wire.Malformed, wire.ErrSyntax: wire.Malformed, wire.ErrRange: wire.Malformed,
		wire.ErrOverflow: wire.Malformed, wire.ErrOverlap: wire.Malformed, wire.ErrGap: wire.Malformed,
		wire.ErrAlign: wire.Malformed, wire.ErrDuplicate: wire.Malformed, wire.ErrMismatch: wire.Malformed,
		wire.ErrTrailing: wire.Malformed, wire.ErrText: wire.Malformed, wire.ErrChecksum: wire.Malformed,
		wire.ErrMissing: wire.Malformed, wire.ErrTruncated: wire.Truncated, wire.ErrUnsupported: wire.Unsupported,
		wire.ErrForbidden: wire.Forbidden, wire.ErrUsage: wire.Usage, wire.ErrInternal: wire.Internal,
	} {
		placed := wire.At("gguf", "", 3, cause.Errorf("%d", 7))
		for name, err := range map[string]error{
			"alone": cause, "with words": cause.Errorf("more"), "placed": placed,
			"wrapped": fmt.Errorf("file x: %w", placed), "joined": errors.Join(io.ErrNoProgress, placed),
		} {
			if !errors.Is(err, cause) || wire.ClassOf(err) != class {
				t.Errorf("%v %s: class %v", cause, name, wire.ClassOf(err))
			}
			for _, other := range []*wire.Cause{wire.ErrMagic, wire.ErrTruncated, wire.ErrInternal} {
				if other != cause && errors.Is(err, other) {
					t.Errorf("%v %s is also %v", cause, name, other)
				}
			}
		}
		if got, ok := errors.AsType[*wire.Error](fmt.Errorf("x: %w", placed)); !ok || got.Off != 3 || got.Format != "gguf" {
			t.Errorf("%v: no place in %v", cause, placed)
		}
	}
}

func TestClassOfOtherErrors(t *testing.T) {
	deadline := &limits.Error{Axis: limits.Time, Want: 1, Left: 1}
	for _, c := range []struct {
		name string
		err  error
		want wire.Class
	}{
		{"none", nil, wire.OK},
		{"a limit", wire.At("npy", "", 0, &limits.Error{Axis: limits.Total}), wire.Limit},
		{"the deadline", fmt.Errorf("x: %w", deadline), wire.Limit},
		{"a limit met while reading what is malformed", errors.Join(wire.ErrRange, deadline), wire.Limit},
		{"a cancellation", context.Canceled, wire.Internal},
		{"a closed account", limits.ErrClosed, wire.Internal},
		{"the disk", wire.At("npy", "", 0, &fs.PathError{Op: "read", Path: "x", Err: io.ErrClosedPipe}), wire.Internal},
		{"an end of file without a place", io.ErrUnexpectedEOF, wire.Internal},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := wire.ClassOf(c.err); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	for want, err := range map[string]error{
		`gguf: tensor 12 "blk.0" at 0x1f40: number out of range: 7`: wire.At("gguf", `tensor 12 "blk.0"`, 0x1f40, wire.ErrRange.Errorf("%d", 7)),
		`npy: at 0x0: not this format`:                              wire.At("npy", "", 0, wire.ErrMagic),
		`npz: member "a": duplicate`:                                wire.At("npz", `member "a"`, wire.NoOffset, wire.ErrDuplicate),
		`zip: checksum differs`:                                     wire.At("zip", "", wire.NoOffset, wire.ErrChecksum),
	} {
		if d := cmp.Diff(want, err.Error()); d != "" {
			t.Error(d)
		}
	}
}

func TestAtKeepsTheFirstPlace(t *testing.T) {
	inner := wire.At("npy", "header", 10, wire.ErrSyntax)
	if outer := wire.At("npz", "member", 500, inner); outer != inner {
		t.Errorf("placed again: %v", outer)
	}
	if wire.At("npz", "member", 500, nil) != nil {
		t.Error("no error became one")
	}
}
