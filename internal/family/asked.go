package family

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// ask notes which of the tensors that the row asks about the file has.
func (c *config) ask(b *limits.Budget, m tensor.Model) error {
	if len(c.row.naming.asked) == 0 {
		return nil
	}
	if err := b.Hold(int64(len(c.row.naming.asked)) * 64); err != nil {
		return err
	}
	c.stored = map[string]bool{}
	for i := range m.Tensors() {
		if err := b.Step(1); err != nil {
			return err
		}
		for _, end := range c.row.naming.asked {
			if strings.HasSuffix(i.Name, end) {
				c.stored[end] = true
			}
		}
	}
	return nil
}

// stores reports whether the file has a tensor whose name ends like that.
func (c *config) stores(end string) bool { return c.stored[end] }
