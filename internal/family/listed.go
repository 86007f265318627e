package family

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Members of config.json that list a number for each layer.

// listed returns a layer's number, 0 for none and for numbers that are no size.
func listed(c *config, member string, layer int64) int64 {
	list := c.get(member).List()
	if layer < 0 || layer >= int64(len(list)) {
		return 0
	}
	n, ok := list[layer].Int()
	if !ok || n < 0 || n > 1<<24 {
		return 0 // no tensor has this shape
	}
	return n
}

// perLayer refuses lists that are shorter or longer than the model.
func perLayer(c *config, members ...string) error {
	other := func(m string) bool { return int64(len(c.get(m).List())) != c.hiddenLayers() }
	if i := slices.IndexFunc(members, other); i >= 0 {
		return wire.At(configName, "member "+wire.Quote(members[i]), c.get(members[i]).Off(), wire.ErrMismatch.Errorf("it is not a list with a number for each of %d layers", c.hiddenLayers()))
	}
	return nil
}
