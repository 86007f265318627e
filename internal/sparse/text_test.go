package sparse

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

func TestWhatIsSkippedIsReadWhenItIsNeeded(t *testing.T) {
	file := []byte("abcdefghijklmnopqrstuvwxyz")
	reads := 0
	read := func(p []byte, off int) error {
		reads += len(p)
		copy(p, file[off:])
		return nil
	}
	var text Text
	text.Move(make([]byte, 10))
	if err := text.Read(4, read); err != nil {
		t.Fatal(err)
	}
	text.Skip(8)
	early := text.String()
	text.Move(make([]byte, 26))
	if err := text.Read(12, read); err != nil {
		t.Fatal(err)
	}
	text.Skip(20)
	if err := text.Read(26, read); err != nil {
		t.Fatal(err)
	}
	if holes := text.Holes(); reads != 4+4+6 || !slices.Equal(holes, []Hole{{4, 8}, {12, 20}}) || early[:4] != "abcd" {
		t.Errorf("%d bytes were read, the holes are %v, and the text began with %q", reads, holes, early)
	}
	text.Fill(13, 14, read)
	if holes := text.Holes(); !slices.Equal(holes, []Hole{{4, 8}}) || text.String()[8:] != string(file[8:]) {
		t.Errorf("the holes are %v, the text is %q", holes, text.String())
	}
	text.Fill(0, 26, read)
	if text.String() != string(file) || text.Err() != nil || len(text.Holes()) > 0 {
		t.Errorf("the text is %q", text.String())
	}
}

func TestAnErrorOfALateReadIsKept(t *testing.T) {
	broken := errors.New("broken")
	var text Text
	text.Move(bytes.Repeat([]byte{1}, 8))
	text.Skip(8)
	text.Fill(0, 8, func([]byte, int) error { return broken })
	text.Fill(0, 8, func([]byte, int) error { return nil })
	if !errors.Is(text.Err(), broken) {
		t.Errorf("the error is %v", text.Err())
	}
}
