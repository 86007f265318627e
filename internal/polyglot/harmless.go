package polyglot

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// headLen is how much of the beginning the rules examine.
const headLen = 512

// JSONText is the name of a text that could be JSON.
const JSONText = "a JSON text"

// vocabulary is the name of a SentencePiece vocabulary.
const vocabulary = "a SentencePiece vocabulary"

// A rule is content that no loader takes for a model.
type rule struct {
	what string
	fits func(s *source) (bool, error)
}

// The first rule that matches names the content. Media are checked to their end. For files of git,
// the first bytes (and a checksum) are enough, because [Pickle], [Alias] and isMessage find what
// else a loader could see in such a file.
var rules = [...]rule{
	{"an empty file", func(s *source) (bool, error) { return s.size == 0, nil }},
	{JSONText, func(s *source) (bool, error) { return s.text && s.opensJSON(), nil }},
	{"a text", func(s *source) (bool, error) { return s.text, nil }},
	{"a PNG image", whole(begins(0, "\x89PNG\r\n\x1a\n"), (*media).png)},
	{"a JPEG image", whole(begins(0, "\xff\xd8\xff"), (*media).jpeg)},
	{"a GIF image", whole(begins(0, "GIF87a", "GIF89a"), (*media).gif)},
	{"a WebP image", whole(riff("WEBP"), (*media).riff)},
	{"a BMP image", whole((*source).bmp, (*media).rows)},
	{"a TIFF image", whole(begins(0, "II*\x00", "MM\x00*"), (*media).tiff)},
	{"a Windows icon", whole(begins(0, "\x00\x00\x01\x00"), (*media).icon)},
	{"a font", whole(begins(0, "wOFF", "wOF2", "OTTO\x00", "\x00\x01\x00\x00\x00"), (*media).font)},
	{"a WAV sound", whole(riff("WAVE"), (*media).riff)},
	{"an AVI film", whole(riff("AVI "), (*media).riff)},
	{"an MP4 film or sound", whole((*source).mp4, (*media).boxes)},
	{"a FLAC sound", whole(begins(0, "fLaC"), (*media).flac)},
	{"an Ogg sound", whole(begins(0, "OggS"), (*media).ogg)},
	{"an MP3 sound", whole(begins(0, "ID3", "\xff\xfb", "\xff\xfa", "\xff\xf3", "\xff\xf2", "\xff\xe3", "\xff\xe2"), (*media).mp3)},
	{"a PDF document", whole(begins(0, "%PDF-"), (*media).pdf)},
	{"a log of TensorBoard", whole((*source).events, (*media).events)},
	{vocabulary, (*source).sentencePiece},
	{"a file of git", (*source).git},
	{object, (*source).gitObject},
}

// Rules lists the kinds of harmless content.
func Rules() []string {
	var list []string
	for _, r := range rules {
		list = append(list, r.what)
	}
	return list
}

func begins(off int, magic ...string) func(*source) (bool, error) {
	return func(s *source) (bool, error) {
		for _, m := range magic {
			if len(s.head) >= off+len(m) && string(s.head[off:off+len(m)]) == m {
				return true, nil
			}
		}
		return false, nil
	}
}

func riff(kind string) func(*source) (bool, error) {
	return func(s *source) (bool, error) {
		return len(s.head) >= 12 && string(s.head[:4]) == "RIFF" && string(s.head[8:12]) == kind, nil
	}
}

// Harmless returns the name of content that no loader takes for a model, or for an
// archive or pickle with one, by the rules that [Rules] lists. It returns "" for content
// that could be one. A text is read to its end.
func Harmless(b *limits.Budget, r io.ReaderAt, size int64) (what string, err error) {
	what, err = HarmlessBut(b, r, size, func() (string, int64, error) { return AliasOf(r, size) })
	if what == "" || err != nil || size == 0 {
		return what, err
	}
	if is, err := Pickle(b, r, size); is || err != nil {
		return "", err
	}
	return what, nil
}

// HarmlessBut is [Harmless] for content that [Pickle] was asked about. archive is the
// answer of [Alias].
func HarmlessBut(b *limits.Budget, r io.ReaderAt, size int64, archive func() (string, int64, error)) (what string, err error) {
	b = b.Probe()
	defer b.Close()
	s := source{b: b, r: r, size: size, steps: b.Steps()}
	if s.head, err = limits.Make[byte](b, int(min(size, headLen))); err != nil {
		return "", err
	}
	if err := wire.ReadFull(r, s.head, 0); err != nil {
		return "", err
	}
	if what, err = s.rule(b); what == "" || err != nil || size == 0 {
		return what, err
	}
	if alias, _, err := archive(); alias != "" || err != nil {
		return "", err
	}
	if what == object {
		if ok, err := s.isHarmlessObject(); !ok || err != nil {
			return "", err
		}
	}
	if !s.text && what != vocabulary { // of which every field is known
		if is, err := s.isMessage(); is || err != nil {
			return "", err
		}
	}
	return what, nil
}

func (s *source) rule(b *limits.Budget) (string, error) {
	if utf8Start(s.head) {
		if err := s.readText(b); err != nil {
			return "", err
		}
	}
	if s.isPointer() || s.isR() || s.isJoblib() {
		return "", nil // a pointer to something else, an R object, a compressed pickle
	}
	if s.text && s.pickled {
		if is, err := buried(b, s.r, s.size); is || err != nil {
			return "", err
		}
	}
	for _, r := range rules {
		if fits, err := r.fits(s); fits || err != nil {
			return r.what, err
		}
	}
	return "", nil
}

// opensJSON reports whether the text could begin a JSON document, after any white space. No
// Jinja template begins like that.
func (s *source) opensJSON() bool {
	switch s.first {
	case "{%", "{{", "{#":
		return false
	}
	return s.first != "" && (s.first[0] == '{' || s.first[0] == '[')
}

// begin keeps the first two characters of the text after a byte order mark and white space.
func (s *source) begin(p []byte, at int64) {
	if at == 0 {
		p = bytes.TrimPrefix(p, []byte("\ufeff"))
	}
	if s.first == "" {
		p = bytes.TrimLeft(p, " \t\r\n")
	}
	s.first += string(p[:min(len(p), 2-len(s.first))])
}

// isPointer reports whether the text is one that Git LFS keeps in place of a file.
func (s *source) isPointer() bool {
	for _, host := range [...]string{"git-lfs.github.com", "hawser.github.com"} {
		if strings.HasPrefix(string(s.head), "version https://"+host+"/spec/") {
			return true
		}
	}
	return false
}

// isR reports whether the text is data written by R, which can run code when it is read.
func (s *source) isR() bool {
	head := string(s.head)
	if rest, ok := strings.CutPrefix(head, "RDA"); ok && len(rest) > 1 && rest[1] == '\n' {
		return true
	}
	rest, ok := strings.CutPrefix(head, "A\n")
	return ok && len(rest) > 1 && '2' <= rest[0] && rest[0] <= '9' && rest[1] == '\n'
}

// isJoblib reports whether the text is a pickle compressed by joblib before 0.10. The output of
// zlib may consist of letters only. The length is whatever Python's int takes with base 16: blanks
// around it, a sign, low lines, and 0x or not.
func (s *source) isJoblib() bool {
	const begin, length = len("ZF"), len("0x10000000000000000")
	head := string(s.head)
	if !strings.HasPrefix(head, "ZF") || len(head) < begin+length {
		return false
	}
	number := strings.Trim(head[begin:begin+length], " \t\n\v\f\r")
	number = strings.TrimLeft(number, "+-")
	return number != "" && strings.Trim(number, "0123456789abcdefABCDEFxX_") == ""
}

// BeginsText reports whether a text could begin like that.
func BeginsText(head []byte) bool { return utf8Start(head) }

// utf8Start reports whether a text could begin like that; the last rune may be cut.
func utf8Start(p []byte) bool { _, ok := validText(p); return ok && len(p) > 0 }

// textStep is how many bytes of a text are looked at for a step: each for its character, and
// for the lines of a pickle.
const textStep = 16

// readText reads the file to its end, as far as it is UTF-8 without control characters.
func (s *source) readText(b *limits.Budget) error {
	buf, err := limits.Make[byte](b, int(min(s.size, 64<<10)))
	if err != nil {
		return err
	}
	var joint []byte // the end of the last part and the beginning of this one
	for at := int64(0); at < s.size; {
		p := buf[:min(int64(len(buf)), s.size-at)]
		if err := b.Step(int64(len(p)) / textStep); err != nil {
			return err
		}
		if err := wire.ReadFull(s.r, p, at); err != nil {
			return err
		}
		rest, ok := validText(p)
		s.begin(p[:len(p)-rest], at)
		if !ok || rest == len(p) || rest > 0 && at+int64(len(p)) == s.size {
			return nil
		}
		joint = append(joint, p[:min(len(p), maxImport)]...)
		s.pickled = s.pickled || imports(p) || at > 0 && imports(joint)
		joint = append(joint[:0], p[max(0, len(p)-rest-maxImport):len(p)-rest]...)
		at += int64(len(p) - rest)
	}
	s.text = true
	return nil
}

// inText are the control characters that a text may have, a bit each.
const inText = 1<<'\t' | 1<<'\n' | 1<<'\v' | 1<<'\f' | 1<<'\r' | 1<<0x1b

// validText reports whether p is UTF-8 without control characters, and how many bytes at
// its end are part of a rune. Every format of models, even protobuf messages, needs
// control characters.
func validText(p []byte) (rest int, ok bool) {
	for i := 0; i < len(p); {
		if c := p[i]; c < utf8.RuneSelf {
			if c < ' ' && inText>>c&1 == 0 || c == 0x7f {
				return 0, false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && n == 1 {
			return len(p) - i, !utf8.FullRune(p[i:])
		}
		i += n
	}
	return 0, true
}
