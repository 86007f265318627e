package sidecar

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// obeyed judges the keys of YAML that libraries obey without asking anybody.
func (l *lines) obeyed(most int) error {
	for _, name := range trustKeys {
		if err := l.names(l.plain, most, name, func(k *key) error {
			switch strings.ToLower(behind(k.rest)) {
			case "false", "no", "off", "n", "0", "null", "~":
				return nil
			}
			return l.trusts(k.at)
		}); err != nil {
			return err
		}
	}
	if l.file == "infer_cfg.yml" || l.file == "infer_cfg.yaml" {
		if err := l.names(l.plain, most, "type", func(k *key) error {
			if text, ok := k.text(); ok && text != "" && strings.Trim(text, "\"'") != "" && (strings.Contains(text, ".") || !isNames(strings.Trim(text, "\"'"))) {
				return l.once(codeExpression, tensor.Danger, "type", k.at, "PaddleDetection evaluates "+wire.Quote(text))
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for _, name := range evaluates {
		if err := l.names(l.plain, most, name, func(k *key) error { return l.literal(name, k) }); err != nil {
			return err
		}
	}
	if err := l.pipelineName(most); err != nil {
		return err
	}
	if err := l.names(l.plain, most, instantiatorKey, func(k *key) error {
		if _, ok := k.text(); !ok {
			return nil
		}
		return l.once(codeImport, tensor.Danger, instantiatorKey, k.at, "Lightning imports what this names, and calls it")
	}); err != nil {
		return err
	}
	if err := l.names(l.plain, most, "module", l.bentoModule); err != nil {
		return err
	}
	if err := l.artifacts(); err != nil {
		return err
	}
	return l.names(l.plain, most, "remote_code", func(k *key) error {
		if behind(k.rest) == "" {
			return nil
		}
		return l.once(codeImport, tensor.Danger, "remote_code", k.at, "FunASR imports "+wire.Quote(behind(k.rest))+" if trust_remote_code is set beside it")
	})
}

// instantiatorKey is the member of hyperparameters by which Lightning's checkpoints name what makes the
// model.
const instantiatorKey = "_instantiator"

// evaluates are members whose texts fairseq, FunASR and Ultralytics give to eval: lists of tuples of
// numbers, and names of classes by their numbers.
var evaluates = [...]string{"conv_feature_layers", "feature_encoder_spec", "conv_cfg_list"}

// isLiteral reports whether an expression has numbers, brackets and sums alone, and nothing that could
// name, call or look up.
func isLiteral(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isDigit(c) && strings.IndexByte("[](),+*-. \t\"'", c) < 0 {
			return false
		}
	}
	return true
}

// literal judges the value of such a member, which must be on the same line.
func (l *lines) literal(name string, k *key) error {
	text, ok := k.text()
	if end := strings.Index(text, " #"); end >= 0 {
		text = text[:end]
	}
	if k.flow {
		text = strings.TrimRight(text, "} ")
	}
	switch strings.Trim(text, "\"' ") {
	case "null", "~", "None":
		return nil
	}
	if !ok || text != "" && isLiteral(text) && !k.cut {
		return nil
	}
	return l.once(codeExpression, tensor.Danger, name, k.at, "fairseq and FunASR evaluate "+wire.Quote(text))
}

// pipelineName judges the class of a pipeline of pyannote, and of what goes before it: what
// get_class_by_name imports, and calls with arguments of the file.
func (l *lines) pipelineName(most int) error {
	plain := l.plain
	if !l.inside && !l.q.nested && !l.doubt && plain != "" && strings.IndexByte(" \t#-", plain[0]) < 0 {
		if key, _ := pair(plain); key != "" {
			l.inPipeline = false
		}
	}
	for _, name := range [...]string{"pipeline", "preprocessors"} {
		if err := l.names(plain, most, name, func(k *key) error {
			if _, ok := k.text(); ok {
				l.inPipeline = true
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if !l.inPipeline {
		return nil
	}
	if hasAlias(plain) || strings.Contains(plain, "<<") {
		return l.once(codeImport, tensor.Danger, "name", l.at, "pyannote imports what a pipeline names, and parts of it stand elsewhere")
	}
	if err := l.fetched(plain); err != nil {
		return err
	}
	return l.names(plain, most, "name", func(k *key) error {
		text, ok := k.text()
		if !ok {
			return nil
		}
		value := behind(k.rest)
		switch {
		case k.asked, text == "", text[0] == '|', text[0] == '>', text[0] == '*', text[0] == '!', text[0] == '&':
			return l.once(codeImport, tensor.Danger, "name", k.at, "pyannote imports what this names, and it is not plain")
		case strings.Contains(value, ".") && !within(value, "pyannote") && isDottedName(value) != "":
			return l.once(codeImport, tensor.Danger, "name", k.at, "pyannote imports "+wire.Quote(value)+", and calls it with arguments of the file")
		}
		return nil
	})
}

// fetched judges the models of which a pipeline of pyannote is made: it fetches them by the names of their
// repositories, and versions before 4.0 unpickle what they find there.
func (l *lines) fetched(line string) error {
	if strings.IndexByte(line, '/') < 0 {
		return nil
	}
	for value := range strings.FieldsFuncSeq(line, func(c rune) bool { return strings.ContainsRune("{}[],: \t\"'", c) }) {
		owner, _, _ := strings.Cut(value, "/")
		if isOwned(value) && !publishers()[owner] {
			return l.once(codeImport, tensor.Danger, "pipeline", l.at, "pyannote fetches "+wire.Quote(value)+" for a pipeline, and unpickles it in some versions")
		}
	}
	return nil
}

// publishers have the models of pyannote's own pipelines.
var publishers = setOf("pyannote speechbrain hbredin")

// hasAlias reports whether a line of YAML could contain an alias: an asterisk before a name, where a
// value may begin.
func hasAlias(line string) bool {
	for i := range len(line) {
		if line[i] == '*' && i+1 < len(line) && inName(line[i+1]) && (i == 0 || strings.IndexByte(" \t:[{,-", line[i-1]) >= 0) {
			return true
		}
	}
	return false
}

// bentoModule judges the module by which BentoML loads a model of its store.
func (l *lines) bentoModule(k *key) error {
	value := behind(k.rest)
	if _, ok := k.text(); !ok || l.file != "model.yaml" || within(value, "bentoml") {
		return nil
	}
	if value != "" && strings.IndexByte("*|>", value[0]) < 0 && isDottedName(value) == "" {
		return nil // of the library's own table, or where the program is started
	}
	return l.once(codeImport, tensor.Danger, "module", k.at, "BentoML imports "+wire.Quote(value)+" to load the model")
}

// artifacts judges the files that NeMo joins with the folder into which it unpacks a model.
func (l *lines) artifacts() error {
	for rest := l.plain; ; {
		_, after, ok := strings.Cut(rest, "nemo:")
		if !ok {
			return nil
		}
		if err := l.steps.Step(); err != nil {
			return err
		}
		path := strings.Trim(after, "\"'")
		if end := strings.IndexAny(path, ",]} \t\"'"); end >= 0 {
			path = path[:end]
		}
		if path != "" && (leaves(path) || strings.Contains(path, "/")) {
			return l.once("sidecar.index-path", tensor.Danger, "nemo:", l.at, "NeMo reads "+wire.Quote(path)+" from where it unpacks the model")
		}
		rest = after
	}
}

// isObeyed reports whether a member of JSON has a text that a library evaluates, or calls what it names.
func isObeyed(key, text string) bool {
	return (key == instantiatorKey || key == "remote_code") && text != "" || slices.Contains(evaluates[:], key) && !isLiteral(text)
}

func (w *walk) obeyed(key, text string, at int64) error {
	switch key {
	case instantiatorKey:
		return w.report(codeImport, tensor.Danger, key, at, "Lightning imports "+wire.Quote(text)+", and calls it")
	case "remote_code":
		return w.report(codeImport, tensor.Danger, key, at, "FunASR imports "+wire.Quote(text)+" if trust_remote_code is set beside it")
	}
	return w.report(codeExpression, tensor.Danger, key, at, "fairseq and FunASR evaluate "+wire.Quote(text))
}
