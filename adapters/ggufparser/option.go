package gguf_parser

import (
	"context"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/remote"
)

type options struct {
	skipLarge, headerOnly bool
	policy                limits.Policy
	budget                *limits.Budget
	remote                remote.Options
}

// A GGUFReadOption says how a file is read.
type GGUFReadOption func(*options)

func optionsOf(opts []GGUFReadOption) *options {
	var o options
	for _, set := range opts {
		set(&o)
	}
	return &o
}

// account is what a call charges: the caller's, or one of its own.
func (o *options) account(ctx context.Context) (*limits.Budget, func()) {
	if o.budget != nil {
		return o.budget, func() {}
	}
	b := o.policy.Budget(ctx)
	return b, b.Close
}

// SkipLargeMetadata leaves the elements of arrays unread that no estimate needs.
func SkipLargeMetadata() GGUFReadOption { return func(o *options) { o.skipLarge = true } }

// UseMMap has no effect: nothing is mapped, so that a file that shrinks is an error and
// no signal.
func UseMMap() GGUFReadOption { return func(*options) {} }

// UseDebug has no effect.
func UseDebug() GGUFReadOption { return func(*options) {} }

// UseBearerAuth sends a token to the host of the address, and to no other.
func UseBearerAuth(token string) GGUFReadOption {
	return func(o *options) { o.remote.Token = token }
}

// WithPolicy bounds what a call may cost, in the place of the default policy.
func WithPolicy(p limits.Policy) GGUFReadOption { return func(o *options) { o.policy = p } }

// WithBudget charges an account of the caller's, such as a tenant's.
func WithBudget(b *limits.Budget) GGUFReadOption { return func(o *options) { o.budget = b } }

// HeaderOnly accepts a file that ends before its tensors do: a copy of the beginning.
func HeaderOnly() GGUFReadOption { return func(o *options) { o.headerOnly = true } }

// AllowPrivate allows remote addresses that are private or loopback, and http.
func AllowPrivate() GGUFReadOption { return func(o *options) { o.remote.AllowPrivate = true } }
