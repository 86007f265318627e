"""Prints unicode_table.go: what the tokenizers package and the Oniguruma within it know
of each character, asked of the package itself. Go's own tables are of another version of
Unicode.

    python3 _gen/unicode.py | gofmt > unicode_table.go
"""
import json
import sys
import unicodedata

import tokenizers
from tokenizers import Regex
from tokenizers.normalizers import NFC, NFD, NFKD, Lowercase, StripAccents
from tokenizers.pre_tokenizers import Digits, Split, Whitespace, WhitespaceSplit

# Of what lies between, all is alike: the first and the last stand for it.
ALIKE = [(0x34000, 0xDFFFF), (0xE1000, 0xEFFFF), (0xF0000, 0xFFFFD), (0xFFFFE, 0xFFFFF), (0x100000, 0x10FFFD), (0x10FFFE, 0x10FFFF)]
ALL = [chr(c) for c in [*range(0xD800), *range(0xE000, 0x34000), *ALIKE[0], *range(0xE0000, 0xE1000), *(c for pair in ALIKE[1:] for c in pair)]]
TEXT = "".join(ALL)
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn".split()


def having(expr):
    """Ranges of numbers of the characters that an expression of one character matches."""
    out = []
    for text, _ in Split(Regex(expr + "+"), "removed", invert=True).pre_tokenize_str(TEXT):
        a, b = ord(text[0]), ord(text[-1])
        # Behind U+D7FF comes U+E000 in the text.
        out += [[a, 0xD7FF], [0xE000, b]] if a < 0xD800 <= 0xDFFF < b else [[a, b]]
    return out


def which(test):
    out = []
    for c in ALL:
        if test(c):
            if out and out[-1][1] == ord(c) - 1:
                out[-1][1] = ord(c)
            else:
                out.append([ord(c), ord(c)])
    return out


def quoted(s):
    return json.dumps(s, ensure_ascii=False).replace("\x7f", "\\x7f").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\ufeff", "\\ufeff")


def runs(name, comment, kinds):
    """A number for each character, from the first on: how many have it, and which."""
    of = {}
    for n, ranges in enumerate(kinds):
        for a, b in ranges:
            for c in range(a, b + 1):
                assert c not in of, (name, hex(c), n, of[c])
                of[c] = n + 1
    out, last, since = [], 0, 0
    for c in range(0x110001):
        now = of.get(c, 0) if c < 0x110000 else -1
        if now != last:
            if c > since:
                out.append(f"{c - since:x}{chr(ord('G') + last) if last < 20 else '.' + format(last, 'x') + '.'}")
            last, since = now, c
    print(f"\n// {name} {comment}\nconst {name} = {quoted(''.join(out))}")


def ranges(name, comment, list_):
    print(f"\n// {name} {comment}\nconst {name} = {quoted(' '.join(f'{a:x}-{b:x}' if a != b else f'{a:x}' for a, b in list_))}")


def scripts():
    names = "Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square".split()
    return names, [having(r"\p{%s}" % n) for n in names]


def classes():
    """The combining class of each character that has one, by its order among characters
    whose class is known: the package gives no numbers."""
    nfd = NFD().normalize_str
    before = lambda x, y: x != y and nfd("a" + y + x) == "a" + x + y  # noqa: E731  # class of x is below that of y, neither 0
    reps = {230: "\u0301"}
    for c in ALL:
        k = unicodedata.combining(c)
        if k and nfd(c) == c and (before(c, "\u0301") if k < 230 else before("\u0301", c)):
            reps.setdefault(k, c)
    known = sorted(reps)
    out = {}
    for c in ALL:
        if nfd(c) != c or not (before(c, reps[known[-1]]) or before(reps[known[0]], c)):
            continue
        below = [k for k in known if before(reps[k], c)]
        above = [k for k in known if before(c, reps[k])]
        same = set(known) - set(below) - set(above)
        assert len(same) == 1, (hex(ord(c)), same)  # or its class is one that no other has
        out.setdefault(same.pop(), []).append(c)
    return out


def forms():
    nfc, nfd, nfkd = NFC().normalize_str, NFD().normalize_str, NFKD().normalize_str
    plain = [c for c in ALL if not 0xAC00 <= ord(c) <= 0xD7A3]
    canonical = {c: nfd(c) for c in plain if nfd(c) != c}
    compatible = {c: nfkd(c) for c in plain if nfkd(c) != nfd(c)}
    made = {}
    for c, d in canonical.items():
        if len(d) > 1 and nfc(d) == c:
            first = nfc(d[:-1])
            assert len(first) == 1, (hex(ord(c)), d)
            made[c] = first + d[-1]
    return canonical, compatible, made


def folds():
    """Characters that are equal under (?i:), and characters and strings that are."""
    cased = [c for c in ALL if c.lower() != c or c.upper() != c or c.casefold() != c or Lowercase().normalize_str(c) != c]
    cased += [Lowercase().normalize_str(c) for c in cased if len(Lowercase().normalize_str(c)) == 1 and Lowercase().normalize_str(c) not in cased]
    text = "\n".join(dict.fromkeys(cased))
    groups, long = {}, []
    for c in dict.fromkeys(cased):
        found = [t for t, _ in Split(Regex(f"(?i:{c})"), "removed", invert=True).pre_tokenize_str(text)]
        if len(found) > 1:
            groups["".join(sorted(found))] = True
        for s in {c.casefold(), c.lower(), unicodedata.normalize("NFKC", c)}:
            if len(s) > 1 and any(t == s for t, _ in Split(Regex(f"(?i:{c})"), "removed", invert=True).pre_tokenize_str("\n" + s + "\n")):
                long.append(c + s)
    return list(groups), long


print(f"// Code generated by _gen/unicode.py from tokenizers {tokenizers.__version__}; DO NOT EDIT.\n\npackage tokenizer")
print("\n// The categories of characters, in the order of their numbers.\nvar categoryNames = []string{" + ", ".join(map(quoted, CATEGORIES)) + "}")
kinds = [having(r"\p{%s}" % n) for n in CATEGORIES]
runs("categoryRuns", "are how many characters have which category, 0 for none.", kinds)
names, of = scripts()
print("\n// Scripts, in the order of their numbers.\nvar scriptNames = []string{" + ", ".join(map(quoted, names)) + "}")
runs("scriptRuns", "are how many characters have which script.", of)
SPACE = [[0x9, 0xD], [0x20, 0x20], [0x85, 0x85], [0xA0, 0xA0], [0x1680, 0x1680], [0x2000, 0x200A], [0x2028, 0x2029], [0x202F, 0x202F], [0x205F, 0x205F], [0x3000, 0x3000]]
# A character that is asked about is put between marks that no step takes.
one = lambda step, c: [t for t, _ in step.pre_tokenize_str("!" + c + "!")]  # noqa: E731
assert having(r"\s") == which(lambda c: one(WhitespaceSplit(), c) == ["!", "!"]) == SPACE, "White_Space has changed"
assert having(r"\d") == kinds[CATEGORIES.index("Nd")]
ranges("exprWord", r"are the characters of \w in an expression.", having(r"\w"))
ranges("cutWord", "are the characters of which Whitespace makes words.", which(lambda c: one(Whitespace(), c) == ["!", c, "!"]))
ranges("cutDigit", "are those that Digits cuts out.", which(lambda c: one(Digits(), c) == ["!", c, "!"]))
ranges("stripAccents", "are the characters that StripAccents takes away.", which(lambda c: StripAccents().normalize_str(c) == ""))
lines = lambda d: quoted("\n".join(a + b for a, b in d.items()))  # noqa: E731
canonical, compatible, made = forms()
print("\n// canonical are characters and what they come apart to, one after the other, with a line\n// feed behind each but the last.\nconst canonical = " + lines(canonical))
print("\n// compatible are those that the compatible forms take apart otherwise.\nconst compatible = " + lines(compatible))
print("\n// composed are characters and the two of which they are put together.\nconst composed = " + lines(made))
print("\n// combining are the characters of each combining class, behind its number.\nconst combining = " + quoted("\n".join(f"{k} {''.join(v)}" for k, v in sorted(classes().items()))))
print("\n// lowercase are characters and their lower case.\nconst lowercase = " + lines({c: Lowercase().normalize_str(c) for c in ALL if Lowercase().normalize_str(c) != c}))
groups, long = folds()
print("\n// folded are the characters that are equal where case counts for nothing.\nconst folded = " + quoted("\n".join(groups)))
print("\n// foldedLong are characters that are equal to several there.\nconst foldedLong = " + quoted("\n".join(long)))
print("unassigned:", sum(b - a + 1 for a, b in kinds[-1]), "of 0x110000", file=sys.stderr)
