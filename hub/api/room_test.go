package api

import "testing"

// A tenant has at most half of what goes on at once, and gives its place back.
func TestATenantTakesHalf(t *testing.T) {
	r := room{all: 4}
	enter := func(tenant string, ok bool) func() {
		t.Helper()
		leave, err := r.enter(tenant)
		if (err == nil) != ok {
			t.Fatalf("%s: %v", tenant, err)
		}
		return leave
	}
	one, two := enter("a", true), enter("a", true)
	enter("a", false)
	enter("b", true)
	enter("c", true)
	enter("d", false)
	one()
	enter("a", true)
	two()
	enter("d", true)
	enter("b", false)
}
