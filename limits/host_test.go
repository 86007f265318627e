package limits_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

func TestAHostTellsItsOwnRefusalsFromThoseOfARequest(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{MaxTotalBytes: 100})
	tenant := host.Child(limits.Policy{MaxTotalBytes: 60})
	defer tenant.Close()
	b := tenant.Child(limits.Policy{MaxTotalBytes: 50})
	defer b.Close()

	own := b.Hold(51)
	refused(t, own, limits.Error{Axis: limits.Total, Want: 51, Left: 50})
	if b.Refused(own) || tenant.Refused(own) || host.Refused(own) {
		t.Error("a request's own refusal is said to be that of an account above")
	}
	must(t, tenant.Hold(20))
	ofTenant := b.Hold(41)
	refused(t, ofTenant, limits.Error{Axis: limits.Total, Want: 41, Left: 40})
	if !tenant.Refused(ofTenant) || host.Refused(ofTenant) {
		t.Error("the tenant's refusal is not told")
	}
	other := host.Child(limits.Policy{})
	defer other.Close()
	must(t, other.Hold(70))
	ofHost := b.Hold(20)
	refused(t, ofHost, limits.Error{Axis: limits.Total, Want: 20, Left: 10})
	if !tenant.Refused(ofHost) || !host.Refused(ofHost) {
		t.Error("the host's refusal is not told")
	}
}

func TestAnOperationEndsWithTheContextOfItsRequest(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{})
	gone := errors.New("the client left")
	ctx, leave := context.WithCancelCause(t.Context())
	b := host.ChildContext(ctx, limits.Policy{})
	defer b.Close()
	sibling := host.ChildContext(t.Context(), limits.Policy{})
	defer sibling.Close()
	must(t, b.Hold(1))
	leave(gone)
	<-b.Context().Done()
	if err := b.Err(); !errors.Is(err, gone) {
		t.Errorf("ended by %v", err)
	}
	must(t, sibling.Hold(1))

	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	c := host.ChildContext(short, limits.Policy{Timeout: limits.NoTimeout})
	defer c.Close()
	<-c.Context().Done()
	if e, ok := errors.AsType[*limits.Error](c.Err()); !ok || e.Axis != limits.Time {
		t.Errorf("a request's deadline is %v, not a limit of time", c.Err())
	}
}
