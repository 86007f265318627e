package jinja_test

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/jinja"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// check looks at a template on an account of its own.
func check(t *testing.T, template string) []jinja.Issue {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	issues, err := jinja.Check(b, template)
	if err != nil {
		t.Fatal(err)
	}
	limitstest.NoLeak(t, b)
	return issues
}

// Templates whose loops or texts grow beyond what the data say are refused, each for that.
func TestGrowingTemplates(t *testing.T) {
	ledger.Charges(t)
	data, err := os.ReadFile("testdata/growing.txt")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(data)) {
		template := strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(template, "#") {
			continue
		}
		count++
		if !slices.ContainsFunc(check(t, template), func(i jinja.Issue) bool { return i.Code == jinja.CodeGrowth }) {
			t.Errorf("%.150s: accepted", template)
		}
	}
	if count < 82 {
		t.Errorf("%d templates", count)
	}
	for _, honest := range []string{
		"{% for m in messages %}{% for i in range(messages|length) %}{{ loop.index0 * 2 }}{% endfor %}{% endfor %}",
		"{% for j in range(loop_messages|length - 1, -1, -1) %}x{% endfor %}",
		"{% set ns = namespace(s='', n=0) %}{% for m in messages %}{% set ns.s = ns.s ~ m.content %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.s }}",
		"{% macro f(x, depth) %}{% for k, v in x|items %}{{ '    ' * depth }}{{ f(v, depth + 1) }}{% endfor %}{% endmacro %}{{ f(tools, 0) }}",
		"{{ x|replace('&', '&amp;')|replace('<', '&lt;') }}{{ '<image>' * (n|default(64)|int) }}",
		"{% for a in [1, 2, 3] %}{% for b in [1, 2, 3] %}{{ a ~ b }}{% endfor %}{% endfor %}",
	} {
		if issues := check(t, honest); len(issues) > 0 {
			t.Errorf("%s: %v", honest, issues)
		}
	}
}

// The memory of the check is charged, and each token is a step.
func TestNamesOfATemplateAreCharged(t *testing.T) {
	var calls, macros strings.Builder
	for i := range 20000 {
		calls.WriteString("f" + itoa(i) + "(),")
		macros.WriteString("{% macro m" + itoa(i) + "() %}{% endmacro %}")
	}
	for what, template := range map[string]string{"calls": "{{" + calls.String() + "1}}", "macros": macros.String()} {
		for axis, p := range map[limits.Axis]limits.Policy{limits.Total: {MaxTotalBytes: 1 << 20}, limits.StepCount: {MaxSteps: 10000}} {
			b := p.Budget(t.Context())
			_, err := jinja.Check(b, template)
			if limit, ok := errors.AsType[*limits.Error](err); !ok || limit.Axis != axis {
				t.Errorf("%s: %v, want a limit of %v", what, err, axis)
			}
			limitstest.NoLeak(t, b)
			b.Close()
		}
	}
}

func TestCheck(t *testing.T) {
	ledger.Charges(t)
	for _, tc := range []struct {
		what     string
		template string
		want     []string // "code@offset"
	}{
		{"plain text is nothing", "hello { world } __class__", nil},
		{"a loop over messages is honest",
			"{%- for m in messages -%}{{ m['role'].strip() ~ m.content|trim }}{% if loop.last %}{{ eos_token }}{% endif %}{% endfor %}", nil},
		{"namespace and list methods are honest", "{% set ns = namespace(x=[]) %}{% set _ = ns.x.append(1) %}", nil},
		{"raise_exception and tojson are honest", "{{ raise_exception('no') }}{{ tools | tojson(indent=4) }}", nil},
		{"a comment may say anything", "{# {{ x.__class__ }} #}", nil},
		{"a raw block is text", "{% raw %}{{ x.__class__ }}{% endraw %}{{ y }}", nil},
		{"a raw block ends where Jinja ends it", "{% raw -%}{% end %}{%- endraw -%}{{ y.__class__ }}", []string{"dunder@38"}},
		{"a dunder attribute", "{{ x.__class__ }}", []string{"dunder@5"}},
		{"white space hides nothing", "{{ x\n . \t__class__ }}", []string{"dunder@9"}},
		{"a dunder subscript", "{{ x['__class__'] }}", []string{"dunder@5"}},
		{"an escaped dunder", `{{ x["\x5f\x5fclass\x5f\x5f"] }}`, []string{"dunder@5"}},
		{"an octal dunder", `{{ x["\137\137class"] }}`, []string{"dunder@5"}},
		{"a unicode dunder", `{{ x["\u005f_class"] }}`, []string{"dunder@5"}},
		{"a piece of a dunder", "{{ x['__cl' ~ 'ass__'] }}", []string{"dunder@5", "computed@5", "computed@12", "dunder@14", "computed@14"}},
		{"a variable may begin with an underscore", "{% set _x = 1 %}{{ _x }}", nil},
		{"an attribute may not", "{{ x._private }}", []string{"dunder@5"}},
		{"pieces that are joined", "{{ x['_' ~ '_class_' ~ '_'] }}",
			[]string{"computed@5", "computed@9", "computed@11", "computed@23"}},
		{"a piece that is multiplied", "{% set a = '_' * 2 %}", []string{"computed@11"}},
		{"a character by its number", "{{ '%c' % 95 }}", []string{"computed@3"}},
		{"a subscript that a filter makes", "{{ x[['a','b'] | join] }}", []string{"computed@17"}},
		{"a plain subscript is honest", "{{ m['content'][0] ~ x[i + 1] }}", nil},
		{"the filter attr", "{{ x | attr('y') }}", []string{"attr@7"}},
		{"the filter attr through map", "{{ x | map('attr', 'y') }}", []string{"attr@11"}},
		{"import", "{% import 'a' as b %}{% from 'a' import c %}{%- include 'a' %}{%+ extends 'a' %}",
			[]string{"import@3", "import@24", "import@48", "import@66"}},
		{"import is a name elsewhere", "{{ import }}", nil},
		{"an unknown method", "{{ x.system('id') }}", []string{"method@5"}},
		{"format evaluates attributes", "{{ '{0.a}'.format(x) }}", []string{"dunder@11"}},
		{"format that only puts in place", "{{ '<{}>'.format(x) }}", nil},
		{"format that reaches through a format", "{{ '{:{0.a}}'.format(x) }}", []string{"dunder@14"}},
		{"format of a variable", "{{ x.format(y) }}", []string{"dunder@5"}},
		{"frames", "{{ x.gi_frame.f_globals }}", []string{"dunder@5", "dunder@14"}},
		{"a known gadget", "{{ lipsum.x }}", []string{"global@3"}},
		{"an attribute called as a gadget is data", "{{ message.config }}", nil},
		{"a number of no character", `{{ x['\Uffffffff_a'] }}`, []string{"syntax@5"}},
		{"digits that are none", `{{ '\x5g_' ~ y }}`, []string{"syntax@3"}},
		{"brackets a thousand deep", "{{ " + strings.Repeat("(", 1001), []string{"syntax@1002"}},
		{"an open tag", "{{ x", []string{"syntax@4"}},
		{"an open string", "{{ 'x }}", []string{"syntax@3"}},
		{"an open comment", "a{# x", []string{"syntax@1"}},
		{"text after a string that closes", "{{ 'a' }}{{ x.__a }}", []string{"dunder@14"}},
		{"braces inside a tag do not close it", "{{ {'a':{'b':1}}.__class__ }}", []string{"dunder@17"}},
		{"a character by name", `{{ x["\N{LOW LINE}_class"] }}`, []string{"computed@5"}},
		{"a letter by name", `{{ x | map("\N{LATIN SMALL LETTER A}ttr", "y") }}`, []string{"computed@11", "method@11"}},
		{"a name in the second of two strings", `{{ x["a" '\N{LOW LINE}'] }}`, []string{"computed@5"}},
		{"a backslash before a name", `{{ x["\\N{LOW LINE}"] }}`, nil},
		{"a comment is not closed by the mark that opens it", "{#} {% raw %} #}{{ x.__a }}", []string{"dunder@21"}},
		{"the shortest comments", "{##}{{ x.__a }}{#-#}{{ x.__b }}", []string{"dunder@9", "dunder@25"}},
		{"a raw block ends behind a form feed", "{% raw %}{%\fendraw\v%}{{ x.__a }}", []string{"dunder@26"}},
		{"a raw block ends behind a wide space", "{% raw %}{%\u00a0endraw\u3000%}{{ x.__a }}", []string{"dunder@29"}},
		{"a raw block ends behind a separator", "{% raw %}{%\x1cendraw\x1f%}{{ x.__a }}", []string{"dunder@26"}},
		{"a raw block begins behind a space of Unicode", "{%\u00a0raw\u2028%}{#{% endraw %}{{ x.__a }}{# #}", []string{"dunder@31"}},
		{"a raw block begins with no plus", "{% raw +%}{{ x.__a }}", []string{"syntax@3", "dunder@15"}},
		{"a raw block ends with one mark", "{% raw %}{% endraw --%}{{ x.__a }}{% endraw +%}{{ y.__a }}", []string{"dunder@52"}},
		{"a statement behind a separator", "{%\x1cinclude 'x' %}", []string{"import@3"}},
		{"an attribute behind a separator", "{{ x.\x1cmro }}", []string{"dunder@6"}},
		{"a zero width space is none", "{% raw %}{%\u200bendraw %}{{ x.__a }}", []string{"syntax@0"}},
		{"a string continued on the next line of another system", "{{ x['_\\\r\n_class'] }}{{ x['_\\\r_class'] }}", []string{"dunder@5", "dunder@26"}},
		{"strings side by side are one", "{{ x['_' \"_class\"\n'__'] }}", []string{"dunder@5"}},
		{"the second of two strings is open", "{{ 'a' 'x }}", []string{"syntax@3"}},
		{"strings in a list are several", "{{ ['a', 'b'] }}", nil},
		{"a frame by subscript", "{{ x['gi_frame']['f_builtins'] }}", []string{"dunder@5", "dunder@17"}},
		{"a path of attributes for a filter", "{{ x | map(attribute='y.gi_frame.f_builtins') }}", []string{"dunder@21"}},
		{"format by subscript is data", "{{ message['format'] }}", nil},
		{"a list of pieces that is joined", "{% set a = ['_', 'b'] | join %}", []string{"computed@12"}},
		{"a list that a piece joins", "{% set a = '_'.join(b) %}", []string{"computed@11"}},
		{"a name that is filled", "{% set a = 'class'.center(9, '_') %}", []string{"computed@29"}},
		{"a string that a piece is put into", "{{ x['{0}{0}class{0}{0}'.format('_')] }}", []string{"computed@31", "computed@32"}},
		{"a string that pieces are put into", "{{ x['%s%sclass' % ('_', '_')] }}", []string{"computed@17", "computed@20"}},
		{"a string in which a piece replaces another", "{{ x['XXclassXX' | replace('X', '_')] }}", []string{"computed@19", "computed@32"}},
		{"a variable in which an underscore is replaced", "{{ x.replace('-', '_') }}", nil},
		{"a piece and a join in two tags", "{{ '_' }}{{ a | join }}", nil},
		{"join of no pieces", "{{ a | join(', ') }}", nil},
		{"a filter block", "{% filter attr('y') %}z{% endfilter %}", []string{"attr@10"}},
		{"a string continued on the next line", "{{ x['_\\\n_class'] }}", []string{"dunder@5"}},
		{"the result of a subscript that is called", "{{ namespace[i]['x']('os') }}", []string{"global@3", "computed@15", "call@20"}},
		{"the result of a call that is called", "{{ m.get('x')('os') }}", []string{"call@13"}},
		{"what parentheses hold is called", "{{ (m.x)('os') }}", []string{"call@8"}},
		{"an element of a list is called", "{{ [m][0]('os') }}", []string{"call@9"}},
		{"a variable is called", "{% set f = m['x'] %}{{ f('os') }}", []string{"call@23"}},
		{"a variable of a loop is called", "{% for f in m %}{{ f('os') }}{% endfor %}", []string{"call@19"}},
		{"a macro is called, before it is defined too", "{{ f(1) }}{%- macro f(a) -%}{{ a }}{%- endmacro -%}", nil},
		{"a call block is a call", "{% call(u) f() %}x{% endcall %}{% macro f() %}{{ caller(1) }}{% endmacro %}", nil},
		{"parentheses after keywords are none", "{% if (a) and (b) or not (c) %}{% elif (d) in (e) %}{% set (x, y) = (1, 2) %}{% endif %}", nil},
		{"filters and tests have arguments", "{{ a | default('x') }}{% if a is divisibleby(3) or a is not in(b) %}{% endif %}", nil},
		{"a variable is called behind not", "{% if not f('os') %}{% endif %}", []string{"call@10"}},
		{"a function gets another meaning", "{% set range = m['x'] %}{{ range('os') }}", []string{"call@7"}},
		{"a function is a loop's variable", "{% for dict in m %}{{ dict('os') }}{% endfor %}", []string{"call@7", "computed@27"}},
		{"a word of Jinja's gets another meaning", "{% set and = m['x'] %}{{ and('os') }}", []string{"call@7"}},
		{"an attribute is called by a method's name", "{% set n.strip = m['x'] %}{{ n.strip('os') }}", []string{"call@31"}},
		{"a key is called by a method's name", "{{ {'strip': m['x']}.strip('os') }}", []string{"call@21"}},
		{"a function that is asked for", "{% if strftime_now is defined and loop.first %}{% endif %}", nil},
		{"a parameter of a function's name", "{% macro f(namespace='x') %}{{ namespace }}{% endmacro %}", nil},
		{"a counter of a method's name", "{% set n = namespace(count=0) %}{{ n.count + 1 }}", nil},
		{"a letter of a string", `{{ x["a_b"[1] ~ "y"] }}`, []string{"computed@10", "computed@14"}},
		{"what the loop has", "{% for i in x %}{{ loop[i][g] }}{% endfor %}", []string{"global@19", "computed@26"}},
		{"what a function has", "{{ namespace['x'] }}", []string{"global@3"}},
		{"a namespace of a value", "{% set n = namespace(d) %}{{ n[k] }}", []string{"computed@21", "computed@31"}},
		{"a namespace of a literal", "{% set n = namespace({'a': b}) %}", []string{"computed@21"}},
		{"a namespace of nothing", "{% set n = namespace() %}{{ namespace(a=1, b=[x]).a }}", nil},
		{"a key that a set makes", "{% set k = a ~ b %}{{ x[k] }}", []string{"computed@24"}},
		{"a key that a set adds", "{% set k = a + b %}{{ x[k] }}", []string{"computed@24"}},
		{"a key that a filter makes", "{% set k = a | join %}{{ x[k] }}", []string{"computed@27"}},
		{"a key that a macro makes", "{% macro f() %}{% endmacro %}{% set k = f() %}{{ x[k] }}", []string{"computed@51"}},
		{"a key that a block makes", "{% set k %}a{{ b }}{% endset %}{{ x[k] }}", []string{"computed@36"}},
		{"a key of a key that is made", "{% set k = l %}{{ x[k] }}{% set l = a ~ b %}", []string{"computed@20"}},
		{"a key that a loop takes", "{% for k in [a ~ b] %}{{ x[k] }}{% endfor %}", []string{"computed@27"}},
		{"a key that a macro takes", "{% macro f(k) %}{{ x[k] }}{% endmacro %}{{ f(a ~ b) }}", []string{"computed@21"}},
		{"one of the arguments of a macro", "{% macro f(a, k, b=c) %}{{ x[k] }}{{ x[a] }}{{ x[b] }}{% endmacro %}{{ f(1, a ~ b) }}", []string{"computed@29"}},
		{"an argument of a macro by its name", "{% macro f(a, k) %}{{ x[k] }}{% endmacro %}{{ f(k=a ~ b) }}", []string{"computed@24"}},
		{"a name that has a value later only", "{{ x[y].a }}{{ [x] | map(attribute=y) }}{% set y = 'a' %}{{ x[y].a }}", []string{"computed@4", "computed@35"}},
		{"a name that has a value later, in a macro that is called before", "{% macro f() %}{{ x[k].a }}{% endmacro %}{{ f() }}{% set k = 'a' %}", []string{"computed@19"}},
		{"a key that a list takes", "{% set l = [] %}{% set _ = l.append(a ~ b) %}{{ x[l[0]] }}", []string{"computed@50"}},
		{"a key that a namespace takes", "{% set n = namespace() %}{% set n.k = a ~ b %}{{ x[n.k] }}{{ x[n['k']] }}", []string{"computed@53", "computed@65"}},
		{"a key that a namespace begins with", "{% set n = namespace(k=a ~ b) %}{{ x[n.k] }}", []string{"computed@39"}},
		{"an attribute of a filter that is made", "{% set k = a ~ b %}{{ x | map(attribute=k) }}{{ x | sort(true, true, k) }}", []string{"computed@40", "computed@69"}},
		{"arguments of a filter from a value", "{{ x | map(*y) }}", []string{"computed@11"}},
		{"an element of a list that is added", "{% set k = a + [b][0] %}{{ x[k] }}", []string{"computed@29"}},
		{"a list that is added is honest", "{% set k = a + [b] %}{% for i in k %}{{ x[i] }}{% endfor %}", nil},
		{"numbers are honest", "{% set i = a | length - 1 %}{% set i = i + 1 %}{{ x[i] }}{% for j in range(1, a ~ b) %}{{ x[j] }}{% endfor %}", nil},
		{"an element of a number is none", "{% set k = a.0 + b.0 %}{{ x[k] }}", []string{"computed@28"}},
		{"a made string that is printed is honest", "{% set k = a ~ b %}{{ k }}{{ x.y[i] ~ k }}", nil},
		{"a dictionary of pairs", "{% set d = dict([['a', b]]) %}", []string{"computed@16"}},
		{"a dictionary with a value's members", "{% set d = dict(a=1, **b) %}{% set n = namespace(a=1, **b) %}", []string{"computed@21", "computed@54"}},
		{"a dictionary with a piece", "{{ dict(_=1) | first }}", []string{"computed@8"}},
		{"a dictionary with a key of a value", "{{ {k: 1} }}", []string{"computed@5"}},
		{"a dictionary with plain keys", "{{ {'a': b, 1: c, 12: {'d': e[1:]}} }}", nil},
		{"a key with one underscore", "{{ x['_a'] }}{{ x['a_'] }}", []string{"dunder@5"}},
		{"what a string of the data found", "{{ x[y] }}{{ x[y] | tojson }}{% if x[y] is mapping %}{% endif %}", nil},
		{"a string of the data, asked of a namespace", "{% set n = namespace(a=1) %}{{ n[y] }}", []string{"computed@33"}},
		{"a string of the data, asked of a method", "{{ x.items[y] }}{{ x.items.type }}{{ [x.items] | map(attribute=y) | list }}", []string{"computed@11", "computed@63"}},
		{"a string of the data, asked of what a filter yields", "{{ (x | map('upper'))[y] }}", []string{"computed@22"}},
		{"what it found has an attribute", "{{ x[y].a }}", []string{"computed@4"}},
		{"what it found has elements", "{{ x[y][0] }}{{ x[y]['a'] }}", []string{"computed@7", "computed@20"}},
		{"what it found is gone through", "{% for a in x[y] %}{{ a.b }}{% endfor %}", []string{"computed@13", "computed@22"}},
		{"what it found is called", "{{ x[y]() }}{{ x[y].strip() }}", []string{"call@7", "call@20"}},
		{"what it found is kept", "{% set k = x[y] %}{{ k.a }}", []string{"computed@21"}},
		{"what it found is a key", "{{ a[x[y]] }}", []string{"computed@6"}},
		{"an attribute of what is found by a filter", "{{ x | map(attribute=y) | map(attribute='a') | list }}", []string{"computed@21", "global@26"}},
		{"a number that is not always set", "{% if a %}{% set k = 1 %}{% endif %}{{ x[k].a }}", []string{"computed@40"}},
		{"a number that both branches set", "{% if a %}{% set k = 1 %}{% elif b %}{% set k = 3 %}{% else %}{% set k = 2 %}{% endif %}{{ x[k].a }}", nil},
		{"a number of a loop that has ended", "{% for k in range(3) %}{{ x[k].a }}{% endfor %}{{ x[k].a }}", []string{"computed@51"}},
		{"a number of a loop", "{% for m in x %}{{ x[loop.index0 - 1].a }}{{ loop.previtem.a }}{% endfor %}", nil},
		{"an attribute of the loop that no template needs", "{% for m in x %}{{ loop.undefined }}{% endfor %}", []string{"global@24"}},
		{"an attribute of a macro", "{% macro f() %}{% endmacro %}{{ f.name }}", []string{"call@32"}},
		{"a macro that is defined too often", "{% macro f(k) %}{{ x[k] }}{% endmacro %}" + strings.Repeat("{% macro f(a) %}{% endmacro %}", 70) + "{{ f(a ~ b) }}", []string{"computed@21"}},
		{"macros in a list", "{% macro f(k) %}{{ k }}{% endmacro %}{% for g in [f] %}{{ g(1) }}{% endfor %}{{ [f][0](2) }}", []string{"call@50", "call@58", "call@81", "call@86"}},
		{"macros and data in a list", "{% macro f(k) %}{{ k }}{% endmacro %}{{ [f, x][0](2) }}", []string{"call@41", "call@49"}},
		{"a macro by another name", "{% macro f(k) %}{{ x[k] }}{% endmacro %}{% set g = f %}{{ g(a ~ b) }}", []string{"call@51", "call@58"}},
		{"a macro takes its arguments from a list", "{% macro f(k) %}{{ x[k] }}{% endmacro %}{{ f(*[a ~ b]) }}{{ f(**{'k': 1}) }}", []string{"computed@21", "call@62"}},
		{"a macro takes its arguments from a dictionary", "{% macro f(k) %}{{ x[k] }}{% endmacro %}{{ f(**{'k': a ~ b}) }}", []string{"computed@21", "call@45"}},
		{"the text that a call gives is fed", "{% macro f() %}{{ caller(a ~ b) }}{% endmacro %}{% call(k) f() %}{{ x[k] }}{% endcall %}", []string{"computed@70"}},
		{"a loop that calls itself is fed", "{% for k in x recursive %}{{ y[k] }}{{ loop([a ~ b]) }}{% endfor %}", []string{"growth@3", "computed@31"}},
		{"a list by another name is fed", "{% set l = [] %}{% set m = l %}{% set _ = m.append(a ~ b) %}{{ x[l[0]] }}", []string{"computed@65"}},
		{"a filter that nobody knows", "{{ x | pickle }}", []string{"method@7"}},
		{"a filter that nobody knows through map", "{{ x | map('pickle') | list }}", []string{"method@11"}},
		{"a test that nobody knows", "{% if x is pickle %}{% endif %}", []string{"method@11"}},
		{"a test that nobody knows through select", "{{ x | select('pickle') | list }}", []string{"method@14"}},
		{"a filter of a computed name", "{{ x | map(y) | list }}", []string{"computed@11"}},
		{"a test of a computed name", "{{ x | select(y) | list }}", []string{"computed@14"}},
		{"a method that calls what it is given", "{{ x.sort(key=y) }}", []string{"method@5"}},
		{"an attribute that a filter sorts by", "{{ x | sort(attribute='a.b') }}{{ x | sort(attribute='a._b') }}", []string{"dunder@53"}},
		{"a function of translators", "{% trans %}a{{ b }}{% pluralize %}c{% endtrans %}", []string{"call@3"}},
		{"every statement", "{% for a, (b, c) in d if b %}{% break %}{% else %}{% continue %}{% endfor %}{% with a = 1, b = 2 %}{% endwith %}" +
			"{% set e | upper %}x{% endset %}{% filter upper | trim %}y{% endfilter %}{% block g scoped %}{% endblock g %}{% print a, b %}{% do a %}" +
			"{% generation %}z{% endgeneration %}{% autoescape true %}{% endautoescape %}{% if a: %}{% elif b %}{% else %}{% endif %}", nil},
		{"every operator", "{{ 1 + 2 - 3 * 4 / 5 // 6 % 7 ** 2 ~ 'a', -a.b[1:2, ::3] if b == 1 != 2 < 3 <= 4 > 5 >= 6 and not c in d or e not in f else 0x1f + 0b1 + 0o7 + 1_0.5e-3 }}", nil},
		{"a statement that nobody knows", "{% debug %}", []string{"syntax@3"}},
		{"a statement that nothing closes", "{% for a in b %}", []string{"syntax@16"}},
		{"a statement that closes another", "{% for a in b %}{% endif %}{% endfor %}", []string{"syntax@19"}},
		{"a bracket that closes another", "{{ (a] }}", []string{"syntax@5"}},
		{"a plus before the end of an expression", "{{ a +}}", []string{"syntax@6"}},
		{"a plus before the end of a statement", "{% set a = 1 +%}{{ a }}", nil},
		{"two tests", "{{ a is b is c }}", []string{"method@8", "syntax@10"}},
		{"a target that is no variable", "{% set a.b.c = 1 %}{% set 'a' = 1 %}{% set (a, none) = 1 %}", []string{"syntax@10", "syntax@26", "syntax@43"}},
		{"a number that is none", "{{ 01 }}", []string{"syntax@4"}},
		{"arguments in no order", "{{ f(a=1, 2) }}{{ f(*a, *b) }}{{ f(**a, b=1) }}", []string{"call@3", "syntax@4", "call@18", "syntax@19", "call@33", "syntax@34"}},
		{"an error does not hide what follows it", "{{ a b }}{{ x.__class__ }}", []string{"syntax@5", "dunder@14"}},
		{"a letter outside ASCII", "{{ dict(\uff43lass=1) }}", []string{"computed@8"}},
		{"a key of data in small letters", "{% set r = {'user': 'a'} %}{{ r[m.role | lower] }}{{ r[m.role | trim] }}", nil},
		{"a printed text", "{{ '# __main__ block' }}{{ '____' }}", nil},
		{"a printed text that is joined", "{{ '__a' ~ b }}", []string{"dunder@3", "computed@3"}},
		{"an issue hides no growth", "{{ x.__class__ }}{% for a in range(999999999) %}{{ a }}{% endfor %}", []string{"dunder@5", "growth@20", "growth@34", "growth@35"}},
		{"a member of a dictionary's method's name", "{% set s = {'items': 1, 'keys': a} %}{% for k, v in s.items() %}{{ k }}{% endfor %}", nil},
		{"a member of a namespace of a dictionary's method's name", "{% set s = namespace(items=a) %}{{ s.items() }}", []string{"call@37"}},
		{"a global that is asked for", "{% if config is defined %}{{ config }}{% endif %}", []string{"global@29"}},
		{"functions of Jinja and transformers", "{{ range(3) }}{{ strftime_now('%Y') }}{{ dict(a=1) }}", nil},
	} {
		t.Run(tc.what, func(t *testing.T) {
			var got []string
			for _, i := range check(t, tc.template) {
				got = append(got, i.Code+"@"+itoa(i.Off))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			corpustest.DamagedTexts(t, "template", tc.template, 40, func(template string) string {
				var codes []string
				for _, i := range check(t, template) {
					codes = append(codes, i.Code+"@"+itoa(i.Off))
				}
				slices.Sort(codes)
				return strings.Join(codes, ",")
			})
		})
	}
}

func TestCheckIsBounded(t *testing.T) {
	got := check(t, strings.Repeat("{{ x.__class__ }}", 1000))
	if len(got) != jinja.MaxIssues {
		t.Errorf("%d issues, want %d", len(got), jinja.MaxIssues)
	}
}

// Whatever nests ends at a depth of its own, and where the account ends, however little it has.
func TestNestingEnds(t *testing.T) {
	const n = 100_000
	for what, s := range map[string]string{
		"brackets":     "{{" + strings.Repeat("(", n),
		"subscripts":   "{{a" + strings.Repeat("[a", n),
		"calls":        "{{a" + strings.Repeat("(a", n),
		"signs":        "{{" + strings.Repeat("-", n),
		"not":          "{{" + strings.Repeat("not ", n),
		"or else":      "{{a" + strings.Repeat(" if a else a", n) + "}}",
		"if":           "{{a" + strings.Repeat(" if a", n) + "}}",
		"attributes":   "{{a" + strings.Repeat(".a", n) + "}}",
		"filters":      "{{a" + strings.Repeat("|d", n) + "}}",
		"sums":         "{{a" + strings.Repeat("+a", n) + "}}",
		"dictionaries": "{{" + strings.Repeat("{1:", n),
		"statements":   strings.Repeat("{%if a%}", n),
		"blocks":       strings.Repeat("{%call a()%}", n),
		"else if":      "{%if a%}" + strings.Repeat("{%else%}{%if a%}", n),
		"tests":        "{{a" + strings.Repeat(" is a(a", n),
	} {
		got := check(t, s)
		if len(got) == 0 || !slices.ContainsFunc(got, func(i jinja.Issue) bool { return i.Code == jinja.CodeSyntax }) {
			t.Errorf("%s: %v", what, got)
		}
		for _, p := range []limits.Policy{{MaxTotalBytes: 100}, {MaxTotalBytes: 10_000}, {MaxSteps: 10}, {MaxSteps: 1000}} {
			b := p.Budget(t.Context())
			issues, err := jinja.Check(b, s)
			if limit, ok := errors.AsType[*limits.Error](err); err != nil && !ok || err == nil && len(issues) == 0 {
				t.Errorf("%s: %v, %v, %v", what, issues, err, limit)
			}
			limitstest.NoLeak(t, b)
			b.Close()
		}
	}
}

// Hostile templates that have an effect in plain Jinja are refused.
func TestReachingTemplatesAreRefused(t *testing.T) {
	ledger.Charges(t)
	list, err := os.ReadFile("testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	for line := range strings.Lines(string(list)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		number++
		got := check(t, strings.TrimSuffix(line, "\n"))
		if len(got) == 0 || slices.ContainsFunc(got, func(i jinja.Issue) bool { return i.Code == jinja.CodeSyntax }) {
			t.Errorf("%v: %s", got, line)
		}
	}
	if number < 85 {
		t.Errorf("%d templates", number)
	}
}

// A template of 64 MiB, or of a million tokens, takes steps for what it has, and ends where the
// account does.
func TestLargeTemplatesCostSteps(t *testing.T) {
	const n = 1 << 20
	for what, tc := range map[string]struct {
		template string
		least    int64 // steps
	}{
		"text":     {strings.Repeat("a{b}", 16*n), 0},
		"tags":     {strings.Repeat("{{a}}", n/8), 3 * n / 8},
		"a tuple":  {"{{" + strings.Repeat("a,", n/2) + "}}", n},
		"comments": {strings.Repeat("{##}", n), 0},
		"macros":   {strings.Repeat("{%macro f(a)%}{%endmacro%}{{f(1)}}", n/64), n / 8},
		"strings":  {"{{" + strings.Repeat("'\\x41',", n/8) + "}}", n / 4},
	} {
		b := limits.Policy{}.Budget(t.Context())
		issues, err := jinja.Check(b, tc.template)
		steps := int64(0)
		for _, u := range b.Usage() {
			if u.Axis == limits.StepCount {
				steps = u.Used
			}
		}
		if len(issues) != 0 || err != nil || steps < tc.least {
			t.Errorf("%s: %v, %v, %d steps, want at least %d", what, issues, err, steps, tc.least)
		}
		limitstest.NoLeak(t, b)
		b.Close()
		if tc.least == 0 {
			continue
		}
		b = limits.Policy{MaxTotalBytes: 1 << 20}.Budget(t.Context())
		_, err = jinja.Check(b, tc.template)
		if limit, ok := errors.AsType[*limits.Error](err); !ok || limit.Axis != limits.Total {
			t.Errorf("%s: %v, want a limit of %v", what, err, limits.Total)
		}
		limitstest.NoLeak(t, b)
		b.Close()
	}
}

// A template of any length takes no more stack, and not much more memory than
// itself: a string of four characters is an allocation of 16 bytes at most in
// each of the two passes, of which the race detector shares none.
func TestLongTemplatesTakeLittle(t *testing.T) {
	const n = 1 << 20
	for what, s := range map[string]string{
		"spaces in a tag":  "{{" + strings.Repeat(" ", 5*n), // a call for each would overflow the stack
		"lines in a tag":   "{%" + strings.Repeat("\n", n),
		"open brackets":    "{{" + strings.Repeat("(", n),
		"escapes":          "{{'" + strings.Repeat(`\x`, n/2) + "'}}",
		"octal escapes":    "{{'" + strings.Repeat(`\777`, n/4) + "'}}",
		"short strings":    "{{" + strings.Repeat(`'\x'`, n/4) + "}}",
		"strings apart":    "{{" + strings.Repeat(`'\x',`, n/5) + "}}",
		"openers in raw":   "{% raw %}" + strings.Repeat("{%", n/2),
		"dashes after raw": "{% raw" + strings.Repeat("-", n),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		check(t, s)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 2*4*n+64<<10 {
			t.Errorf("%s: %d bytes for %d", what, used, n)
		}
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}
