package store

import "testing"

// However small the room of a call is, tenants get shares by their weights and what their rows cost.
func TestSharesDoNotDependOnTheRoom(t *testing.T) {
	for _, room := range []int{1, 3, 7, 40, 1000} {
		all := map[string]*queued{"cheap": {name: "cheap", weight: 1}, "heavy": {name: "heavy", weight: 3}, "dear": {name: "dear", weight: 1}}
		costs := map[string]int64{"cheap": 1, "heavy": 1, "dear": 21}
		tenants := []*queued{all["cheap"], all["heavy"], all["dear"]}
		paid := map[string]int64{}
		for taken := 0; taken < 4000; {
			for name, q := range all {
				q.next = nil
				for range room + 1 {
					q.next = append(q.next, candidate{int64(len(name)), costs[name]})
				}
			}
			before := map[string]int{}
			for name, q := range all {
				before[name] = len(q.next)
			}
			var chosen []int64
			chosen, tenants = choose(tenants, room)
			if len(chosen) != room || len(tenants) != 3 {
				t.Fatalf("room %d: %d chosen, %d tenants", room, len(chosen), len(tenants))
			}
			taken += len(chosen)
			for name, q := range all {
				paid[name] += int64(before[name]-len(q.next)) * costs[name]
			}
		}
		if c, h, d := paid["cheap"], paid["heavy"], paid["dear"]; h < c*27/10 || h > c*33/10 || d < c*9/10 || d > c*11/10 {
			t.Errorf("room %d: cheap %d, heavy %d, dear %d", room, c, h, d)
		}
	}
}
