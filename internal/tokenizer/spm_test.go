package tokenizer

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// message is a field of protobuf that holds bytes: its tag, the length, and the parts.
func message(tag byte, parts ...string) string {
	body := strings.Join(parts, "")
	return string([]byte{tag, byte(len(body))}) + body
}

// The encodings are written by hand, as the specification says. sentencepiece reads them with
// protobuf's parser for C++, which refuses the same tags and lengths as upb.
func TestFieldsOfSentencePieceModels(t *testing.T) {
	ledger.Charges(t)
	const float = "\x15\x00\x00\x80\xbf"
	piece := message(0x0a, message(0x0a, "a"), float, "\x18\x01")
	for name, c := range map[string]struct {
		body  string
		class wire.Class
	}{
		"a piece with all its members":            {piece, wire.OK},
		"fields that are not known":               {piece + "\x28\x05" + message(0x32, "x") + "\x39abcdefgh" + "\x45abcd", wire.OK},
		"the largest number of a field":           {piece + "\xf8\xff\xff\xff\x0f\x01", wire.OK},
		"a length in five bytes":                  {piece + "\x32\x81\x80\x80\x80\x00x", wire.OK},
		"no pieces":                               {"", wire.Malformed},
		"a piece that is a number":                {"\x08\x01", wire.Malformed},
		"a piece without text":                    {message(0x0a, float), wire.Malformed},
		"a piece of no characters":                {message(0x0a, message(0x0a, "")), wire.Malformed},
		"a piece that is not UTF-8":               {message(0x0a, message(0x0a, "\xff")), wire.Malformed},
		"a text that is a number":                 {message(0x0a, "\x08\x01"), wire.Malformed},
		"a score that is a number":                {message(0x0a, message(0x0a, "a"), "\x10\x01"), wire.Malformed},
		"a type that is none":                     {message(0x0a, message(0x0a, "a"), "\x18\x00"), wire.Malformed},
		"a type beyond all":                       {message(0x0a, message(0x0a, "a"), "\x18\x07"), wire.Malformed},
		"a trainer that is a number":              {piece + "\x10\x01", wire.Malformed},
		"a kind of model that is a text":          {piece + message(0x12, message(0x1a, "x")), wire.Malformed},
		"a kind of model that is none":            {piece + message(0x12, "\x18\x05"), wire.Malformed},
		"the first kind of model":                 {piece + message(0x12, "\x18\x01"), wire.OK},
		"the last kind of model":                  {piece + message(0x12, "\x18\x04"), wire.OK},
		"a normalizer that is a number":           {piece + "\x18\x01", wire.Malformed},
		"a map of characters that is a number":    {piece + message(0x1a, "\x10\x01"), wire.Malformed},
		"a flag of the normalizer that is a text": {piece + message(0x1a, message(0x1a, "x")), wire.Malformed},
		"a flag of spaces that is a text":         {piece + message(0x1a, message(0x22, "x")), wire.Malformed},
		"a field with the number 0":               {piece + "\x00\x01", wire.Malformed},
		"a number of a field that is too large":   {piece + "\x80\x80\x80\x80\x10\x01", wire.Malformed},
		"a tag in two bytes that takes one":       {piece + "\xa8\x00\x05", wire.Malformed},
		"a tag in six bytes":                      {piece + "\xa8\x80\x80\x80\x80\x00\x05", wire.Malformed},
		"a length in six bytes":                   {piece + "\x32\x81\x80\x80\x80\x80\x00x", wire.Truncated},
		"a group":                                 {piece + "\x2b\x2c", wire.Malformed},
		"a tag that does not end":                 {piece + "\xa8", wire.Truncated},
		"a number that does not end":              {piece + "\x28\x80", wire.Truncated},
		"a number of more than 64 bits":           {piece + "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", wire.Truncated},
		"a length that does not end":              {piece + "\x32\x80", wire.Truncated},
		"a text longer than the file":             {piece + "\x32\x02x", wire.Truncated},
		"a number of eight bytes that ends early": {piece + "\x39abcdefg", wire.Truncated},
		"a number of four bytes that ends early":  {piece + "\x45abc", wire.Truncated},
	} {
		_, err := ParseSPM(account(t, limits.Policy{}), c.body)
		if wire.ClassOf(err) != c.class {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Members about training and texts are read as they are written, and have the defaults of
// sentencepiece_model.proto where the model has none.
func TestMembersOfSentencePieceModels(t *testing.T) {
	ledger.Charges(t)
	piece := message(0x0a, message(0x0a, "a"), "\x15\x00\x00\x80\xbf", "\x18\x04")
	b := account(t, limits.Policy{})
	m, err := ParseSPM(b, piece)
	if err != nil || m.Model != 1 || !m.Prefix || !m.Squeeze || m.Charsmap != "" || len(m.Pieces) != 1 || m.Pieces[0] != (Piece{Text: "a", Score: -1, Type: 4}) {
		t.Errorf("%v, %+v", err, m)
	}
	m, err = ParseSPM(b, piece+message(0x12, "\x18\x02")+message(0x1a, message(0x12, "map"), "\x18\x00", "\x20\x00"))
	if err != nil || m.Model != 2 || m.Prefix || m.Squeeze || m.Charsmap != "map" {
		t.Errorf("%v, %+v", err, m)
	}
}
