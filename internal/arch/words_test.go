package arch

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Words that once stood for terms of the field, and what the field calls them. They
// appear in no comment, message or document.
var privateWords = map[string]string{
	"braid": "interleaved", "braids": "interleaved", "braided": "interleaved", "woven": "interleaved",
	"strand": "lane", "strands": "lanes",
	"faint":          "subnormal",
	"second numbers": "zero points or minimums",
	"a scale each":   "a scale for each element",
}

// Idioms over which readers of messages stumble, and what says it better.
var clumsy = map[string]*regexp.Regexp{
	"is not a ...":  regexp.MustCompile(`\b(is|are) no [a-zA-Z]`),
	"appears twice": regexp.MustCompile(`\bstands? twice\b`),
	"is not one of": regexp.MustCompile(`\b(is|are) none of\b`),
}

// thereIs is what may precede "no" and "none".
var thereIs = regexp.MustCompile(`(?i)\bthere (is|are) (no|none)\b`)

// onePass is a pass as a noun, as in "one pass over the tensors".
var onePass = regexp.MustCompile(`(?i)\b(one|a|first|both|the|of|in|then) pass(es)? over\b`)

// betterThan is what says better what a text says, "" for a text that is fine.
func betterThan(text string) string {
	text = thereIs.ReplaceAllString(text, "")
	for better, pattern := range clumsy {
		if pattern.MatchString(text) {
			return better
		}
	}
	return ""
}

// Idioms that make readers of comments stumble, what says it better, and the number of places
// where each is left. The numbers may only fall: write comments without the idioms, and lower the
// number when you replace one.
var stumbling = []struct {
	idiom, better string
	pattern       *regexp.Regexp
	left          int
}{
	{"stands in a place", "is, appears", regexp.MustCompile(`\bst(ands?|ood) (in|at|on|there|behind|before|beside|alone|once|twice|between|where|here|elsewhere)\b`), 0},
	{"is none of", "is not one of", regexp.MustCompile(`\b(is|are) none of\b`), 0},
	{"what is no X", "other values, files that are not X", regexp.MustCompile(`\b[Ww]hat is (no|none)\b`), 0},
	{"so many of", "a number of", regexp.MustCompile(`\bso many\b`), 0},
	{"nobody", "no reader, no program; the passive", regexp.MustCompile(`\b[Nn]obody\b`), 1},
	{"is told", "is reported, is recognized", regexp.MustCompile(`\b(is|are) told\b`), 0},
	{"asks that", "checks that", regexp.MustCompile(`\basks (that|of)\b`), 0},
	{"passes over", "skips", regexp.MustCompile(`\b(pass(es)?|passed|walks) over\b`), 0},
	{"a sentence that begins with What", "a subject", regexp.MustCompile(`(^|[.:] )What [a-z ]+ (is|are|has|have|does|do|was|may|must|cannot)\b`), 0},
}

func TestCommentsUseTheWordsOfTheField(t *testing.T) {
	found := make([]int, len(stumbling))
	example := make([]string, len(stumbling))
	for _, s := range sources(t) {
		if s.path == "internal/arch/words_test.go" {
			continue
		}
		for _, g := range s.tree.Comments {
			text := onePass.ReplaceAllString(thereIs.ReplaceAllString(strings.Join(strings.Fields(g.Text()), " "), ""), "")
			for i := range stumbling {
				if n := len(stumbling[i].pattern.FindAllStringIndex(text, -1)); n > 0 {
					found[i] += n
					example[i] = place(g)
				}
			}
		}
	}
	for i, w := range stumbling {
		if found[i] > w.left {
			t.Errorf("%q is in %d places of comments, of which %d are old: write %s (such as %s)", w.idiom, found[i], w.left, w.better, example[i])
		}
		if found[i] < w.left {
			t.Logf("%q is left in %d places: lower its number from %d", w.idiom, found[i], w.left)
		}
	}
}

// A comment that begins with another name than that of its declaration is left from before it was
// renamed.
func TestCommentsBeginWithTheNameOfTheirDeclaration(t *testing.T) {
	for _, s := range sources(t) {
		if s.in("corpus") { // whose comments begin with lines of the language of recipes
			continue
		}
		for _, d := range s.tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				ownName(t, d.Name.Name, d.Doc)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						ownName(t, spec.Name.Name, cmp.Or(spec.Doc, d.Doc))
					}
				}
			}
		}
	}
}

// identifier matches a word that is a name of Go rather than of English.
var identifier = regexp.MustCompile(`^(?:[a-z]\w*\.)?[a-z]\w*$`)

func ownName(t *testing.T, name string, g *ast.CommentGroup) {
	t.Helper()
	if strings.HasPrefix(name, "Test") {
		return // whose comments are sentences about what is tested
	}
	if words := strings.Fields(g.Text()); len(words) > 0 && words[0] != name && identifier.MatchString(words[0]) {
		t.Errorf("%s: the comment of %s begins with %s", place(g), name, words[0])
	}
}

func TestNoPrivateWords(t *testing.T) {
	var words []string
	for w := range privateWords {
		words = append(words, w)
	}
	pattern := regexp.MustCompile(`(?i)\b(` + strings.Join(words, "|") + `)\b`)
	look := func(where, text string) {
		for _, w := range pattern.FindAllString(text, -1) {
			t.Errorf("%s: %q: the field says %s", where, w, privateWords[strings.ToLower(w)])
		}
	}
	for _, s := range sources(t) {
		if s.path == "internal/arch/words_test.go" {
			continue
		}
		for _, g := range s.tree.Comments {
			look(place(g), g.Text())
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && !s.test() {
				look(place(lit), lit.Value)
			}
			return true
		})
	}
	for _, folder := range []string{"*.md", "docs/*.md", "asm/*.md"} {
		pages, err := fs.Glob(os.DirFS(root(t)), folder)
		if err != nil || len(pages) == 0 {
			t.Fatalf("no pages %s: %v", folder, err)
		}
		for _, page := range pages {
			look(page, read(t, page))
		}
	}
}

func TestMessagesAvoidClumsyWords(t *testing.T) {
	c := check(t)
	for _, s := range sources(t) {
		if s.test() || s.generated() || s.in("corpus", "crosscheck", "fuzz", "internal/site") {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || c.info.Types[lit].Value == nil {
				return true
			}
			text := constant.StringVal(c.info.Types[lit].Value)
			if better := betterThan(text); better != "" {
				t.Errorf("%s: %s reads better with %q", place(lit), lit.Value, better)
			}
			return true
		})
	}
}

func TestClumsyMessagesAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"%s is no list": true, "the keys are no list": true, "the name stands twice": true, "its value is none of gelu and silu": true,
		"there is no list": false, "it is not a list": false, "there are none": false, "it appears twice": false, "and there is none of them": false,
	} {
		if got := betterThan(text); (got != "") != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
