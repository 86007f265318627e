package strictjson_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A subnormal number takes a hundred times what another takes.
func TestNumbersArePaidByWhatTheyTake(t *testing.T) {
	steps := func(number string) int64 {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		const n = 1000
		text := strictjson.Text{Body: "[" + strings.Repeat(number+",", n) + number + "]"}
		if err := strictjson.Decode(b, text, func(d *strictjson.Decoder) error {
			return d.Array(func(int) error {
				_, err := d.Float()
				return err
			})
		}); err != nil {
			t.Fatal(err)
		}
		return b.Worked() / n
	}
	if plain, slow := steps("1.5"), steps("1e-310"); slow < 50*plain {
		t.Errorf("1.5 takes %d steps, 1e-310 takes %d", plain, slow)
	}
}
