package vm

import (
	"fmt"
	"strconv"
	"strings"
)

// A pattern says what a value may be: the arguments of a call, or a state. The language is
// that of the files of class sets ([parseSet]).
type pattern struct {
	op    patternOp
	text  string // a literal
	num   int64
	class *class     // of classOnly, instance
	parts []*pattern // of a tuple, the alternatives, the elements, the values of a dict
	keys  []string   // of a record, or versions
	least int        // parts of a tuple or a record that must be there
	rest  bool       // the last part of a tuple may be repeated
}

type patternOp uint8

const (
	anyValue  patternOp = iota
	ofKind              // num is the Kind
	boolean             // num is 0 or 1
	number              // an integer or a float
	small               // an integer of at most 1,024 in both directions
	positive            // an integer of 31 bits from 1 on
	textOf              // a str, or bytes, equal to text
	integerOf           // num
	anyArray            // a NumPy array of the class ndarray
	arrayOf             // an array of numbers, whose code is in text and whose dimensions are num
	dtypeOf
	scalarOf
	moment     // what datetime holds
	classOnly  // the class itself
	plainClass // int, str, ...
	instance   // what a call of the class gave
	tupleOf
	listOf
	dictOf     // parts are those of the key and of the value
	record     // a dict with these keys
	attributes // a dict of names that the class does not have
	either
	sliceOf
	plainData // any value whose only globals are types of numbers and classes of sets
	keyedDict // an OrderedDict, Counter or defaultdict
	arrayClass
	int64Of
	numericOf // a number of Python or NumPy
	versionOf // the text of a version; keys are those of the set
	sizeOf    // a torch.Size
	typeOf    // a type of torch, such as torch.float32
	layoutOf  // torch.strided, as torch writes it
	pathOf    // a path of pathlib
)

// simple are the patterns of one word.
var simple = map[string]pattern{
	"any": {op: anyValue}, "values": {op: plainData}, "none": {op: ofKind, num: int64(KindNone)}, "bool": {op: ofKind, num: int64(KindBool)},
	"true": {op: boolean, num: 1}, "false": {op: boolean}, "int": {op: ofKind, num: int64(KindInt)},
	"float": {op: ofKind, num: int64(KindFloat)}, "number": {op: number}, "small": {op: small}, "positive": {op: positive}, "str": {op: ofKind, num: int64(KindText)},
	"bytes": {op: ofKind, num: int64(KindBytes)}, "list": {op: ofKind, num: int64(KindList)}, "dict": {op: ofKind, num: int64(KindDict)},
	"set": {op: ofKind, num: int64(KindSet)}, "tuple": {op: ofKind, num: int64(KindTuple)}, "array": {op: anyArray}, "dtype": {op: dtypeOf}, "scalar": {op: scalarOf},
	"version": {op: versionOf}, "datetime": {op: moment}, "slice": {op: sliceOf}, "attributes": {op: attributes}, "plain": {op: plainClass}, "ndarray": {op: arrayClass}, "ordered": {op: keyedDict}, "int64": {op: int64Of}, "numeric": {op: numericOf},
	"torchsize": {op: sizeOf}, "torchdtype": {op: typeOf}, "torchlayout": {op: layoutOf}, "path": {op: pathOf},
}

// A patternReader parses one pattern.
type patternReader struct {
	rest  string
	types map[string]*pattern
	named func(name string) *class
	of    *ClassSet // whose versions a text may be
	depth int
}

const maxPatternDepth = 16

func (r *patternReader) skip() { r.rest = strings.TrimLeft(r.rest, " ") }

func (r *patternReader) take(token string) bool {
	r.skip()
	rest, ok := strings.CutPrefix(r.rest, token)
	if ok {
		r.rest = rest
	}
	return ok
}

// whole parses a pattern that ends with the text.
func (r *patternReader) whole() (*pattern, error) {
	p, err := r.either()
	if r.skip(); err == nil && r.rest != "" {
		err = fmt.Errorf("%q is left over", r.rest)
	}
	return p, err
}

func (r *patternReader) either() (*pattern, error) {
	if r.depth++; r.depth > maxPatternDepth {
		return nil, fmt.Errorf("a pattern of more than %d levels", maxPatternDepth)
	}
	defer func() { r.depth-- }()
	first, err := r.one()
	if err != nil || !r.take("|") {
		return first, err
	}
	out := &pattern{op: either, parts: []*pattern{first}}
	for {
		next, err := r.one()
		if err != nil {
			return nil, err
		}
		if out.parts = append(out.parts, next); !r.take("|") {
			return out, nil
		}
	}
}

func (r *patternReader) one() (*pattern, error) {
	switch {
	case r.take("("):
		return r.tuple()
	case r.take("[]"):
		return &pattern{op: listOf}, nil
	case r.take("["):
		p, err := r.either()
		return &pattern{op: listOf, parts: []*pattern{p}}, r.then(err, "]")
	case r.take("{"):
		return r.dict()
	case r.take("'"):
		text, err := r.literal()
		return &pattern{op: textOf, text: text}, err
	case r.take("@"):
		class, err := r.class()
		return &pattern{op: classOnly, class: class}, err
	case r.take("<"):
		class, err := r.class()
		return &pattern{op: instance, class: class}, r.then(err, ">")
	}
	word := r.word()
	if p, ok := r.types[word]; ok {
		return p, nil
	}
	if p, ok := simple[word]; ok {
		if p.op == versionOf {
			p.keys = r.of.versions
		}
		return &p, nil
	}
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return &pattern{op: integerOf, num: n}, nil
	}
	if codes, ok := strings.CutPrefix(word, "array:"); ok {
		return arrayPattern(codes)
	}
	return nil, fmt.Errorf("%q is not a pattern", word)
}

// arrayPattern parses the codes of an array's types, and its dimensions: "i4/i8.1".
func arrayPattern(codes string) (*pattern, error) {
	codes, rank, _ := strings.Cut(codes, ".")
	p := &pattern{op: arrayOf, text: " " + strings.ReplaceAll(codes, "/", " ") + " ", num: -1}
	if rank != "" {
		n, err := strconv.Atoi(rank)
		if err != nil || n < 0 || n > maxRank {
			return nil, fmt.Errorf("%q is not a number of dimensions", rank)
		}
		p.num = int64(n)
	}
	for code := range strings.FieldsSeq(p.text) {
		if !isCode(code) {
			return nil, fmt.Errorf("%q is not a type of an array", code)
		}
	}
	return p, nil
}

func (r *patternReader) then(err error, token string) error {
	if err == nil && !r.take(token) {
		return fmt.Errorf("%q is missing before %q", token, r.rest)
	}
	return err
}

func (r *patternReader) word() string {
	r.skip()
	end := strings.IndexAny(r.rest, " ()[]{}<>|,?*'@")
	if end < 0 {
		end = len(r.rest)
	}
	if end > 0 && r.rest[end-1] == ':' { // of a key
		end--
	}
	word := r.rest[:end]
	r.rest = r.rest[end:]
	return word
}

func (r *patternReader) literal() (string, error) {
	text, rest, ok := strings.Cut(r.rest, "'")
	if !ok {
		return "", fmt.Errorf("%q has no end", r.rest)
	}
	r.rest = rest
	return text, nil
}

func (r *patternReader) class() (*class, error) {
	name := r.word()
	if c := r.named(name); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%q is not a class of the set", name)
}

func (r *patternReader) tuple() (*pattern, error) {
	out := &pattern{op: tupleOf}
	optional := false
	for !r.take(")") {
		if len(out.parts) > 0 && !r.take(",") || out.rest {
			return nil, fmt.Errorf("a tuple does not go on before %q", r.rest)
		}
		p, err := r.either()
		if err != nil {
			return nil, err
		}
		out.parts = append(out.parts, p)
		switch {
		case r.take("*"):
			out.rest = true
		case r.take("?"):
			optional = true
		case optional:
			return nil, fmt.Errorf("a part that must be there follows one that need not")
		default:
			out.least++
		}
	}
	return out, nil
}

// dict parses {key: value} or {'name': value, 'other'?: value}.
func (r *patternReader) dict() (*pattern, error) {
	r.skip()
	if r.rest != "" && r.rest[0] != '\'' && r.rest[0] != '}' {
		key, err := r.either()
		if err = r.then(err, ":"); err != nil {
			return nil, err
		}
		value, err := r.either()
		return &pattern{op: dictOf, parts: []*pattern{key, value}}, r.then(err, "}")
	}
	out := &pattern{op: record}
	for !r.take("}") {
		if len(out.parts) > 0 && !r.take(",") {
			return nil, fmt.Errorf("a dict does not go on before %q", r.rest)
		}
		if !r.take("'") {
			return nil, fmt.Errorf("no key before %q", r.rest)
		}
		key, err := r.literal()
		if err != nil {
			return nil, err
		}
		required := !r.take("?")
		if err := r.then(nil, ":"); err != nil {
			return nil, err
		}
		value, err := r.either()
		if err != nil {
			return nil, err
		}
		if !required { // the required ones come first
			out.keys, out.parts = append(out.keys, key), append(out.parts, value)
			continue
		}
		out.keys = append(out.keys[:out.least:out.least], append([]string{key}, out.keys[out.least:]...)...)
		out.parts = append(out.parts[:out.least:out.least], append([]*pattern{value}, out.parts[out.least:]...)...)
		out.least++
	}
	return out, nil
}
