package strictjson_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A subnormal number takes many times what another takes.
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
	if plain, slow := steps("1.5"), steps("1e-310"); slow < 8*plain {
		t.Errorf("1.5 takes %d steps, 1e-310 takes %d", plain, slow)
	}
}

// A number that the account cannot pay is refused as the limit, at its place.
func TestANumberThatIsNotPaidHasAPlace(t *testing.T) {
	b := limits.Policy{MaxSteps: 100}.Budget(t.Context())
	defer b.Close()
	text := strictjson.Text{Format: "json", Body: "[" + strings.Repeat("1e-310,", 100) + "1]"}
	err := strictjson.Decode(b, text, func(d *strictjson.Decoder) error {
		return d.Array(func(int) error {
			_, err := d.Float()
			return err
		})
	})
	at, ok := errors.AsType[*wire.Error](err)
	if wire.ClassOf(err) != wire.Limit || !ok || at.Off < 0 {
		t.Errorf("%v", err)
	}
}
