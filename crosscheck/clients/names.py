"""Names of files that clients, servers and systems may take for others. Each case has the names of
one folder; the files differ in content.
"""
ESCAPES = [
    ["model%2D00001.bin", "model-00001.bin"], ["model%2d00001.bin", "model-00001.bin"], ["%6dodel.bin", "model.bin"], ["a%252Db.bin", "a%2Db.bin", "a-b.bin"],
    ["a%2Fb.bin", "a/b.bin"], ["a%2fb.bin"], ["%2e%2e/b.bin", "b.bin"], ["a%00.bin"], ["a%.bin"], ["a%zz.bin"], ["%.bin"], ["a%20b.bin", "a b.bin"], ["a+b.bin", "a b.bin"],
    ["a%2Bb.bin", "a+b.bin"], ["%25.bin", "%.bin"], ["a%5Cb.bin"], ["caf%C3%A9.bin", "café.bin"],
]
PUNCTUATION = [[f"a{c}b.bin", "ab.bin", "a.bin"] for c in "?#;&=:@!$'()*,[]{}|^~`\"<> -_"]
CASES = [["Model.bin", "model.bin"], ["MODEL.BIN", "model.bin", "Model.bin"], ["sub/A.bin", "Sub/A.bin"], ["K.bin", "\u212a.bin", "k.bin"], ["s.bin", "\u017f.bin"], ["straße.bin", "STRASSE.bin"]]
UNICODE = [
    ["caf\u00e9.bin", "cafe\u0301.bin"], ["\uff41.bin", "a.bin"], ["\ufb01.bin", "fi.bin"], ["\U0001f600.bin"], ["a\u202eb.bin", "ab.bin"], ["a\u200db.bin", "ab.bin"], ["\ufeffa.bin", "a.bin"],
    ["a\u00a0b.bin", "a b.bin"], ["a\u2028b.bin"], ["a\u0085b.bin"], ["\ufffd.bin"], ["\ue000.bin"], ["\u0430.bin", "a.bin"], ["\uac00.bin", "\u1100\u1161.bin"], ["\U0010ffff.bin"],
]
DOTS = [[n, "b.bin", "a/b.bin"] for n in ("../b.bin", "a/../b.bin", "./b.bin", "a/./b.bin", "a//b.bin", "/b.bin", "b.bin/", "..", ".", "...", "a/...", ".hidden", "a..b", "b.bin.", " b.bin", "b.bin ", "a/..b.bin", "a/b.bin/..")]
SEPARATORS = [[n, "b.bin"] for n in ("a\\b.bin", "..\\b.bin", "a\\..\\b.bin", "\\b.bin", "C:b.bin", "C:\\b.bin", "b.bin:stream", "~/b.bin", "~b.bin", "$HOME.bin", "-b.bin", "CON.bin", "nul")]
CONTROL = [[n, "ab.bin"] for n in ("a\x00b.bin", "a\nb.bin", "a\rb.bin", "a\tb.bin", "a\x7fb.bin", "a\x1bb.bin", "a\x01b.bin")]
LONG = [["a" * 250], ["a" * 300], ["/".join("a" * 40)], ["/".join("a" * 90)]]
ALL = [*ESCAPES, *PUNCTUATION, *CASES, *UNICODE, *DOTS, *SEPARATORS, *CONTROL, *LONG]
# Of an index: what it names, beside a file of that name if one can be listed.
SHARDS = [
    "model.safetensors", "model%2D00001.safetensors", "%6dodel.safetensors", "a%2Fb.safetensors", "sub/model.safetensors", "a b.safetensors", "a+b.safetensors", "caf\u00e9.safetensors",
    "cafe\u0301.safetensors", "a?b.safetensors", "a#b.safetensors", "model[1].safetensors", "mode*.safetensors", "Model.safetensors", "a\\b.safetensors", "..\\x.safetensors", "./model.safetensors",
    "a//b.safetensors", "../main/model.safetensors", "../../../other/model/resolve/main/model.safetensors", "/other/model/resolve/main/model.safetensors", "..", "a\nb.safetensors", "a%0Ab.safetensors",
    "C:x.safetensors", ".hidden.safetensors", "%2e%2e/main/model.safetensors", "%2e%2e%2fmodel.safetensors",
]
