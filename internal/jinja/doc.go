// Package jinja checks chat templates: a template must not reach into the interpreter
// that renders it, and must not load other templates. The package renders nothing.
//
// Chat templates are Jinja programs that arrive inside model files and are run by
// servers, some of them outside any sandbox. The check parses the text as Jinja 3.1 does
// and refuses what it does not know: a filter, a test, a method, a function or an
// attribute of the loop that is not in the tables, which a program makes from Jinja and from
// published templates. Templates that Jinja cannot parse are refused too.
//
// An attribute, a subscript, a call and a path of attributes for a filter are for data. So each
// expression has a value: the kinds of object that it may be, and may hold. A template may ask
// data for what its text names, without an underscore before it; it may ask data for what a
// string of the data names, and may print what that finds, but ask it for nothing. It may not
// ask for what a string names that the template makes. It may call functions that it is given,
// its own macros and known methods; their names are nothing else, and are only called.
//
// The result of a filter, a method or an operator may be anything among its inputs, unless a row
// says that it is a number, a string or a part. A key is asked for strings that the template makes
// at any depth. A string of the data is no path of attributes, which would be several lookups in
// one.
//
// The time and memory that it takes are bounded by the data: numbers and lengths have bounds by the literals of the
// template, loops in loops multiply them, and nothing that lasts from one round of a loop to the
// next may become a multiple of itself. Loops that call themselves are refused, and macros that do
// so with no part of what they were given.
//
// Order: the tree is parsed, each token once. Then passes over it, at most 16, find what each
// name may be, without regard to order; a last one reports. Every step takes a token or a node.
//
// Limits: each token is a step, and so is each node in each pass; the tree is charged. The
// caller bounds the text and is charged its length once more for strings with escapes. At most
// [MaxIssues] places are reported. Brackets, statements and the tree are at most 1,000 deep.
//
// Not supported: custom delimiters and line statements, which no model file can switch
// on. A character by its name in a string is refused, not looked up.
//
// Grammar: Jinja 3.1.6, jinja2/lexer.py and jinja2/parser.py; the statement generation is
// transformers'.
package jinja
