package sidecar

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jinja"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// errNoJSON ends the reading of text that Python's json rejects.
var errNoJSON = errors.New("no JSON")

// A frame is an open object or list.
type frame struct {
	list  bool
	key   string           // of the current member
	kept  map[string]value // strings of an object that are judged at its end
	twice string           // a key of kept that is duplicated
	words value            // the file from which a layer's configuration takes its vocabulary

	chained bool        // it has the member by which LangChain knows its objects
	noTimm  bool        // its backbone is not one of timm's table
	steps   replacement // what a step of a tokenizer replaces
}

// A value is a string and its offset.
type value struct {
	text string
	off  int64
	said bool // a library is known to read it
}

// A walk reads one JSON text.
type walk struct {
	*reader

	open    []frame
	scratch []byte          // buffer of the current string
	built   map[string]bool // members of the root from which a library builds what it would fetch else

	grown  [noSteps]grown  // by the steps of a tokenizer
	stated map[int]*stated // by the depth of open objects
}

// known are files that libraries read as JSON: malformed ones are findings.
var known = map[string]bool{
	"config.json": true, "tokenizer_config.json": true, "processor_config.json": true, "preprocessor_config.json": true,
	"generation_config.json": true, "chat_template.json": true, "adapter_config.json": true, "model_index.json": true,
}

// json looks through a JSON text.
func (r *reader) json() error {
	w := &walk{reader: r}
	err := w.text()
	for range w.open {
		r.b.Leave()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errNoJSON) {
		off := r.off
		r.begin()
		if err := r.yaml(); err != nil { // as which OmegaConf reads it
			return err
		}
		r.off = off
		if known[r.t.Name[strings.LastIndexAny(r.t.Name, "/!")+1:]] {
			return r.report("sidecar.syntax", tensor.Warning, "", r.off, "Python's json does not read this")
		}
		return nil
	}
	return err
}

// text reads a value and checks that nothing follows it.
func (w *walk) text() error {
	if p, err := w.in.Peek(3); err == nil && string(p) == "\ufeff" {
		w.in.Discard(3)
		w.off += 3
	}
	for {
		done, err := w.value()
		if err != nil {
			return err
		}
		for done && len(w.open) > 0 {
			if done, err = w.after(); err != nil {
				return err
			}
		}
		if len(w.open) == 0 {
			break
		}
	}
	if c, err := w.token(); err == nil || err != io.EOF {
		_ = c
		return errors.Join(errNoJSON, err)
	}
	return nil
}

// token returns the next byte that is not white space.
func (w *walk) token() (byte, error) {
	for {
		c, err := w.next()
		if err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, err
		}
	}
}

// value reads a value, or the beginning of an object or list, for which done is false.
func (w *walk) value() (done bool, err error) {
	if err := w.steps.Step(); err != nil {
		return false, err
	}
	c, err := w.token()
	if err != nil {
		return false, err
	}
	switch {
	case c == '{', c == '[':
		return w.begin(c == '[')
	case c == '"':
		return true, w.str()
	}
	return true, w.word(c)
}

// begin opens an object or a list; the key of a list is "," after its first element.
func (w *walk) begin(list bool) (bool, error) {
	if err := w.b.Enter(); err != nil {
		return false, err
	}
	key, at := w.here(), w.off-1
	var err error
	if w.open, err = limits.Append(w.b, w.open, frame{list: list}); err != nil {
		w.b.Leave()
		return false, err
	}
	c, err := w.token()
	if err != nil {
		return false, err
	}
	if c == '}' && !list || c == ']' && list {
		w.end()
		return true, nil
	}
	if err := w.obey(key, at); err != nil {
		return false, err
	}
	if list {
		w.back()
		return false, nil
	}
	w.opened = true
	w.builds(key)
	return false, w.key(c)
}

func (w *walk) end() {
	w.open = w.open[:len(w.open)-1]
	w.b.Leave()
}

// after reads what follows a value: another value, or the end of the object or list.
func (w *walk) after() (done bool, err error) {
	c, err := w.token()
	if err != nil {
		return false, err
	}
	f := &w.open[len(w.open)-1]
	switch {
	case c == ',' && f.list:
		f.key = ","
		return false, nil
	case c == ',':
		if c, err = w.token(); err != nil {
			return false, err
		}
		return false, w.key(c)
	case c == ']' && f.list:
		w.end()
		return true, nil
	case c == '}' && !f.list:
		err := cmp.Or(w.beyond(), w.object(f))
		if err == nil {
			err = w.replaced(f)
		}
		w.end()
		return true, err
	}
	return false, errNoJSON
}

// key reads a member's name after its opening quote.
func (w *walk) key(c byte) error {
	if c != '"' {
		return errNoJSON
	}
	if err := w.steps.Take(stringSteps); err != nil { // besides the step of its value
		return err
	}
	at, limit := w.off, maxText
	matches := w.matches()
	if matches {
		limit = maxRegex + 1
	}
	k, err := w.read(limit)
	if err == nil && matches {
		err = w.layerRegex(&k, at)
	}
	if err != nil {
		return err
	}
	if _, name, ok := strings.Cut(k.text, "."); ok && w.t.Prefixed && len(w.open) == 1 {
		k.text = name
	}
	w.open[len(w.open)-1].key = k.text
	if err := w.member(k.text); err != nil {
		return err
	}
	if c, err = w.token(); err == nil && c != ':' {
		err = errNoJSON
	}
	return err
}

// word reads a number or a name such as true or NaN.
func (w *walk) word(c byte) (err error) {
	var buf [64]byte
	text := buf[:0]
	at := w.off - 1
	for c == '-' || c == '+' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
		if len(text) < len(buf) {
			text = append(text, c)
		}
		if c, err = w.next(); err != nil {
			break
		}
	}
	switch {
	case len(text) == 0:
		return errNoJSON
	case err == nil:
		w.back()
	case err != io.EOF:
		return err
	}
	name := string(text)
	if name == "false" && w.here() == "use_timm_backbone" {
		w.open[len(w.open)-1].noTimm = true
	}
	if err := w.padded(name, at); err != nil || isFalse(name) {
		return err
	}
	w.state(name)
	if err := w.counts(name, at); err != nil {
		return err
	}
	return w.obey(w.here(), at)
}

// isFalse reports whether Python takes a number or a name for false.
func isFalse(text string) bool {
	if text == "false" || text == "null" {
		return true
	}
	zero := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == 'e' || c == 'E':
			return zero
		case c == '0':
			zero = true
		case c != '-' && c != '.':
			return false
		}
	}
	return zero
}

// obey judges a member with a value that Python takes for true.
func (w *walk) obey(key string, at int64) error {
	switch {
	case key == "trust_remote_code":
		return w.trusts(at)
	case key == "hf_model_pretrained" && w.fetchesWord("hf_model_name") != "":
		return w.once(CodeUnexplained, tensor.Warning, key, at, "open_clip fetches the weights of the text model that hf_model_name names")
	case key == "allow_remote" && w.file == "configuration.json":
		return w.once(codeImport, tensor.Danger, key, at, "ModelScope runs ms_wrapper.py of the folder, older versions without being asked")
	}
	return nil
}

// here returns the name of the member whose value is being read.
func (w *walk) here() string {
	if len(w.open) == 0 {
		return ""
	}
	return w.open[len(w.open)-1].key
}

// below reports whether the current value is below a member with a name.
func (w *walk) below(name string) bool {
	for i := range w.open {
		if !w.open[i].list && w.open[i].key == name {
			return true
		}
	}
	return false
}

// str reads and judges a string value.
func (w *walk) str() error {
	if err := w.steps.Take(stringSteps); err != nil {
		return err
	}
	at, key := w.off, w.here()
	listed := len(w.open) > 1 && w.open[len(w.open)-2].list // with its name, or else the key is the name
	template := (w.below("chat_template") || w.file == "chat_template.json") && !(listed && key == "name")
	limit, matches, answers := maxText, !template && w.matches(), !template && w.matchesAnswers(key)
	switch {
	case template:
		limit = maxTemplate + 1
	case matches, answers, key == "Regex" && w.inSteps() != noSteps:
		limit = maxRegex + 1
	case w.isCharsMap(key):
		limit = maxCharsMap + 1
	}
	k, err := w.read(limit)
	switch {
	case err != nil:
	case matches:
		err = w.layerRegex(&k, at)
	case answers:
		err = w.answerRegex(&k, at)
	case !template:
		err = w.ofTokenizer(key, &k, at)
	}
	if err != nil {
		return err
	}
	judged := false
	if template {
		if k.size > maxTemplate {
			return longTemplate(k.size)
		}
		if k.lone {
			if err := w.report(CodeTemplate+jinja.CodeSyntax, tensor.Danger, key, at, "the chat template has half of a surrogate pair, which not all readers of JSON take alike"); err != nil {
				return err
			}
		}
		if err := w.template("chat_template", k.text, at, false); err != nil || strings.Contains(k.text, "{") {
			return err
		}
		judged = true // but the member may be of another library, which has its object here
		k.text = k.text[:min(len(k.text), maxText)]
	}
	return w.judge(key, &k, at, judged)
}

// judge judges a string that is no template by each of its readers: what one of them makes of it
// says nothing about another.
func (w *walk) judge(key string, k *kept, at int64, judged bool) error {
	text, keeps := k.text, w.keeps(key)
	w.stateType(key, text)
	if keeps {
		if err := w.keep(key, text, at); err != nil {
			return err
		}
	}
	var err error
	if text != "" && (key == "trust_remote_code" || key == "allow_remote") {
		judged, err = true, cmp.Or(err, w.obey(key, at))
	}
	if w.below("weight_map") && leaves(text) {
		judged, err = true, cmp.Or(err, w.once("sidecar.index-path", tensor.Danger, "", at, "its loader reads a shard from "+wire.Quote(text)))
	}
	if w.below("auto_map") {
		judged, err = true, cmp.Or(err, w.autoMap(text, at))
	}
	if w.isManifest() {
		judged, err = true, cmp.Or(err, w.manifest(key, text, at))
	}
	if key == hydraKey {
		judged, err = true, cmp.Or(err, w.target(text, at))
	}
	if err != nil {
		return err
	}
	for _, by := range [...]func(string, *kept, int64) (bool, error){w.expression, w.imports, w.names} {
		is, err := by(key, k, at)
		if err != nil {
			return err
		}
		judged = judged || is
	}
	switch {
	case judged && keeps:
		w.said(key)
	case keeps: // the end of the object judges it
	case !judged:
		return w.unexplained(w.listed(key), k, at)
	}
	return nil
}

// listed returns the key of the list that holds the current value.
func (w *walk) listed(key string) string {
	for i := len(w.open) - 1; i > 0 && w.open[i].list; i-- {
		if !w.open[i-1].list {
			return w.open[i-1].key
		}
	}
	return key
}

// trusts reports a member that some libraries obey without asking anybody.
func (r *reader) trusts(at int64) error {
	return r.once("sidecar.trust-remote-code", tensor.Danger, "", at,
		"transformers (for LightGlue), open_clip, FunASR, spacy-transformers, vLLM and SGLang obey this in the files of a model or of a server, and run code that they name")
}

// partly reports whether the auto_map at hand is that of a part of a model, such as its vision_config:
// AutoModel.from_config takes the code of one from the repository that the part names.
func (w *walk) partly() bool {
	for i := 1; i+1 < len(w.open); i++ {
		if w.open[i].key == "auto_map" {
			return w.file == configs && strings.HasPrefix(w.open[i+1].key, "Auto")
		}
	}
	return false
}

// autoMap judges a class of the repository's own code, or of another's.
func (w *walk) autoMap(text string, at int64) error {
	repo, module := "", text
	for i := 0; i+1 < len(text); i++ {
		if text[i:i+2] == "--" {
			repo, module = text[:i], text[i+2:]
		}
	}
	file := module
	for i := range module {
		if module[i] == '.' {
			file = module[:i] + ".py"
			break
		}
	}
	where, severity := "which is not here", tensor.Danger
	switch {
	case repo != "":
		where = "of another repository, " + wire.Quote(repo)
	case w.t.Beside == nil:
		where = "of the repository"
	case strings.ContainsAny(file, `/\`): // transformers opens it in a folder below, which was not asked for it
		where = "in another folder"
	case w.t.Beside(file):
		where = "which lies beside it"
	case w.coded: // it may be the same name on another file system: letters in other cases, accents apart
		where = "which another file of the folder may be where names are compared otherwise"
	case w.partly():
		where = "which it takes from where the part's name_or_path says"
	default:
		severity = tensor.Warning
	}
	return w.once("sidecar.auto-map", severity, "auto_map", at,
		"transformers runs "+wire.Quote(file)+", "+where+", if it is told to trust code of the repository; SGLang 0.5.23 and older versions of vLLM run it without being told")
}
