package convert

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/journal"
)

// Of two long values the error quotes a part that differs.
func TestTheErrorAboutAnotherJobShowsTheDifference(t *testing.T) {
	const same = "58730248 bytes, written at 2026-12-01T05:26:41.416828527Z, changed at 2026-12-01T05:"
	for _, c := range [][2]string{
		{same + "26", same + "31"},
		{strings.Repeat("x", 200) + "1", strings.Repeat("x", 200) + "2"},
		{same, same + "26"},
		{"1", "2"},
		{"", "2"},
	} {
		now, was := factTexts(c[0], c[1])
		text := otherJob(&journal.Differs{Now: []journal.Fact{{Name: "input", Value: c[0]}}, Was: []journal.Fact{{Name: "input", Value: c[1]}}}).Error()
		if now == was || !strings.Contains(text, `"input" is `+now+", and was "+was) {
			t.Errorf("%q and %q: %s, %s: %s", c[0], c[1], now, was, text)
		}
	}
	if now, was := factTexts(same+"26", same+"31"); now != `"changed at 2026-12-01T05:26"` || was != `"changed at 2026-12-01T05:31"` {
		t.Errorf("%s, %s", now, was)
	}
}
