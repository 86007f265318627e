package view

import "testing"

func TestCountsOfTokens(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "8192": 8192, "8k": 8192, "128K": 131072, "1m": 1 << 20, "0k": 0} {
		if n, err := parseTokens(text); n != want || err != nil {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "k", "8kk", "-1k", "8.5k", "8g", "9999999999999999k", "99999999999999999999"} {
		if n, err := parseTokens(text); err == nil {
			t.Errorf("%q: %d", text, n)
		}
	}
}
