package arch

import (
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
	{"stands in a place", "is, appears", regexp.MustCompile(`\bst(ands?|ood) (in|at|on|there|behind|before|beside|alone|once|twice|between|where|here|elsewhere)\b`), 10},
	{"is none of", "is not one of", regexp.MustCompile(`\b(is|are) none of\b`), 1},
	{"what is no X", "other values, files that are not X", regexp.MustCompile(`\b[Ww]hat is (no|none)\b`), 1},
	{"so many of", "a number of", regexp.MustCompile(`\bso many\b`), 8},
	{"nobody", "no reader, no program; the passive", regexp.MustCompile(`\b[Nn]obody\b`), 9},
	{"is told", "is reported, is recognized", regexp.MustCompile(`\b(is|are) told\b`), 21},
	{"asks that", "checks that", regexp.MustCompile(`\basks (that|of)\b`), 0},
	{"passes over", "skips", regexp.MustCompile(`\b(pass(es)?|passed|walks) over\b`), 20},
	{"a sentence that begins with What", "a subject", regexp.MustCompile(`(^|[.:] )What [a-z ]+ (is|are|has|have|does|do|was|may|must|cannot)\b`), 62},
}

func TestCommentsUseTheWordsOfTheField(t *testing.T) {
	found := make([]int, len(stumbling))
	example := make([]string, len(stumbling))
	for _, s := range sources(t) {
		if s.path == "internal/arch/words_test.go" {
			continue
		}
		for _, g := range s.tree.Comments {
			text := thereIs.ReplaceAllString(strings.Join(strings.Fields(g.Text()), " "), "")
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
