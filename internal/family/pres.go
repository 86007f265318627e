package family

// A pre is the part of tokenizer.json that comes before merges, for one name of
// tokenizer.ggml.pre.
type pre struct {
	normalizer string // JSON
	cut        string // JSON of the pre-tokenizers before ByteLevel
	whole      bool   // ignore_merges
	bos        bool   // bos is put before a text if the file does not say
	own        bool   // ByteLevel applies its own expression too
}

// The expressions are those of the models' tokenizer.json, which llama-vocab.cpp of
// llama.cpp quotes beside its own; crosscheck/back.py encodes llama.cpp's test texts
// with them.
const (
	digitsAlone = `{"type": "Digits", "individual_digits": true}`
	gpt4Words   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`
	qwenWords   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`
	upper       = `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]`
	lower       = `[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]`
	short       = `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
	ends        = `| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`
	tekkenWords = upper + `*` + lower + `+|` + upper + `+` + lower + `*|\\p{N}` + ends
	gpt4oWords  = upper + `*` + lower + `+` + short + `|` + upper + `+` + lower + `*` + short + `|\\p{N}{1,3}` + ends
	formC       = `{"type": "NFC"}`
	chinese     = `[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+`
	// letters of the scripts with upper and lower case, as DeepSeek lists them
	cased  = `\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\ud801\udc00-\ud801\udc4f\ud801\udcb0-\ud801\udcd3\ud801\udcd8-\ud801\udcfb\ud803\udc80-\ud803\udcb2\ud803\udcc0-\ud803\udcf2\ud806\udca0-\ud806\udcdf\ud83a\udd00-\ud83a\udd43]+`
	points = `\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+`
)

func splitBy(expr string) string {
	return `{"type": "Split", "pattern": {"Regex": "` + expr + `"}, "behavior": "Isolated", "invert": false}`
}

// preOf returns what a name of tokenizer.ggml.pre stands for.
func preOf(name string) (pre, bool) {
	switch name {
	case "gpt-2", "olmo", "mpt":
		return pre{own: true}, true
	case "llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "lfm2":
		return pre{cut: splitBy(gpt4Words), whole: true, bos: true}, true
	case "dbrx", "smaug-bpe":
		return pre{cut: splitBy(gpt4Words)}, true
	case "glm4":
		return pre{cut: splitBy(gpt4Words), whole: true}, true
	case "qwen2", "deepseek-r1-qwen":
		return pre{cut: splitBy(qwenWords), normalizer: formC}, true
	case "starcoder", "refact", "smollm", "codeshell":
		return pre{cut: digitsAlone, own: true}, true
	case "command-r":
		return pre{cut: digitsAlone, own: true, normalizer: formC}, true
	case "tekken":
		return pre{cut: splitBy(tekkenWords), whole: true, bos: true}, true
	case "gpt-4o", "llama4":
		return pre{cut: splitBy(gpt4oWords)}, true
	case "deepseek-llm":
		return pre{cut: splitBy(`[\r\n]`) + ", " + splitBy(cased) + ", " + splitBy(points) + ", " + splitBy(`\\s+$`) + ", " + splitBy(chinese) + ", " + digitsAlone}, true
	case "deepseek-coder":
		return pre{cut: splitBy(`[\r\n]`) + ", " + splitBy(`\\s?\\p{L}+`) + ", " + splitBy(`\\s?\\p{P}+`) + ", " + splitBy(chinese) + ", " + digitsAlone}, true
	case "deepseek-v3":
		return pre{cut: splitBy(`\\p{N}{1,3}`) + ", " + splitBy(`[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+`) + ", " + splitBy("[!\\\"#$%&'()*+,\\\\-./:;<=>?@\\\\[\\\\\\\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\\\p{L}\\\\p{P}\\\\p{S}]?[\\\\p{L}\\\\p{M}]+| ?[\\\\p{P}\\\\p{S}]+[\\r\\n]*|\\\\s*[\\r\\n]+|\\\\s+(?!\\\\S)|\\\\s+")}, true
	}
	return pre{}, false
}
