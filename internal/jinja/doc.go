// Package jinja checks chat templates: a template must not reach into the interpreter
// that renders it, and must not load other templates. The package renders nothing.
//
// Chat templates are Jinja programs that arrive inside model files and are run by
// servers, some of them outside any sandbox. The check splits the text into the same
// tokens as Jinja, so that neither an escape in a string nor white space of Python in an
// expression hides a name, and reports each place.
//
// A template may call a function that it is given, a macro of its own or a known
// method. Calling the result of a subscript or of a call is an issue; honest templates
// do not do it. So is giving a name that is called another meaning.
//
// Order: two passes over the tokens, the first for names, and between them up to 16 for
// what is made of what. A pass reads text, then one tag
// at a time: statement, expression, comment, raw block. Every step consumes at least one
// byte.
//
// Limits: the caller bounds the text and is charged its length once more for strings
// with escapes. At most [MaxIssues] places are reported. Brackets nest at most 1,000
// deep.
//
// Not supported: custom delimiters and line statements, which no model file can switch
// on. Values are not followed, names are: a variable that anywhere takes what an operator,
// a filter, a call or a block makes of strings may be no key and no attribute of a filter.
//
// Grammar: Jinja 3.1, "Template Designer Documentation".
package jinja
