// Package jinja looks through a chat template for what a template has no
// business doing: reaching into the interpreter that renders it, or loading
// other templates. It renders nothing.
//
// Chat templates are Jinja programs that arrive inside model files and are run
// by servers, some of them outside any sandbox. The check splits the text into
// the tokens that Jinja itself would see, so that neither an escape in a string
// nor white space inside an expression hides a name, and reports each place.
//
// What a template calls must be a function that it is given, a macro of its own or
// a known method: the result of a subscript or of a call is never called by an
// honest one. A name that is called may not get another meaning.
//
// Order: two passes over the tokens, the first for names; text, then a tag at a time: statement, expression, comment, raw block.
// Every step consumes at least one byte.
//
// Limits: the caller bounds the text, and pays its length once more for strings
// with escapes; at most [MaxIssues] places are reported; brackets are followed
// 1,000 deep.
//
// Not supported: custom delimiters and line statements, which no model file
// can switch on, and values: a name that is computed from pieces and kept in a
// variable is not found, unless a piece begins or ends with an underscore and is
// put to the others by an operator, or in the same tag by join, by a filling, or
// into a string as a format.
//
// Grammar: Jinja 3.1, "Template Designer Documentation".
package jinja
