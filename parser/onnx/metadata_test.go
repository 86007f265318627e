package onnx

import (
	"strconv"
	"testing"
)

// Metadata that Python evaluates, with and without code.
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

// Unknown entries of external data are not kept.
func TestKeysOfExternalDataAreBounded(t *testing.T) {
	a := newArray(nil)
	for range 1000 {
		a.Message(13, &keyValue{key: "key"})
	}
	if !a.badExternal || len(a.keys) != 1 {
		t.Errorf("%d keys of one name", len(a.keys))
	}
	a = newArray(nil)
	for i := range 1000 {
		a.Message(13, &keyValue{key: strconv.Itoa(i)})
	}
	if !a.badExternal || len(a.keys) > maxKeys {
		t.Errorf("%d keys", len(a.keys))
	}
}
