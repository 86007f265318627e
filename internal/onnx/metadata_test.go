package onnx

import "testing"

// Metadata that Python evaluates: what runs nothing, and what could.
func TestLiteralsRunNothing(t *testing.T) {
	for text, want := range map[string]bool{
		`{0: 'person', 1: 'potted plant (small)', 2: "it's"}`: true,
		`['a', 'b']`: true, `(640, 640)`: true, `[17, 3]`: true, ``: true, `{0: 'a\'(b)'}`: true,
		`__import__('os').system('id')`: false, `{0: f'{x}'}`: false, `(lambda: 0)()`: false, `[a][0] ()`: false,
		`"""a" '""" + x("os") + "'"`: false, `'a`: false, `'a\`: false, `x\
(1)`: false,
	} {
		if got := isLiteral(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
