package vm

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// The rule of LightGBM's boosters. A pickle of one holds the text of its model, which compiled code
// parses (src/boosting/gbdt_model_text.cpp, src/io/tree.cpp of LightGBM 4): it jumps by the sizes
// that the text states, reads the stated number of values whether or not they exist, and follows
// children and features without looking at them.

const (
	mostLeaves   = 1 << 24
	mostFeatures = 1 << 24
	mostOutputs  = 1 << 16
	deepestTree  = 1000 // some predictions call themselves for each level
)

// boosterPaths are parameters that name files or machines. Training reads them, loading a
// model does not; those of honest models are empty.
const boosterPaths = " machines machine_list_filename forcedsplits_filename forcedbins_filename parser_config_file input_model "

// checkBooster checks that the text of a booster is a model whose numbers are consistent.
func (m *matcher) checkBooster(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	handle := m.valueAt(state, "_handle")
	if handle == refAbsent { // LightGBM before 4.0
		handle = m.valueAt(state, "handle")
	}
	if handle == refAbsent || m.g.kind(handle) != KindText {
		return false
	}
	text := m.g.text(handle)
	m.cost += int64(len(text)/8) + 1
	b := booster{m: m}
	return b.head(&text) && b.trees(&text) && b.rest(text)
}

type booster struct {
	m        *matcher
	features int64
	sizes    string
}

// pays charges for a word or a line.
func (b *booster) pays() bool {
	b.m.cost++
	return b.m.settle() == nil
}

// pairs calls see with the name and the value of each line up to an empty one.
func pairs(text *string, see func(name, value string) bool) bool {
	for {
		line, rest, ok := strings.Cut(*text, "\n")
		if !ok {
			return false
		}
		if *text = rest; line == "" {
			return true
		}
		name, value, _ := strings.Cut(line, "=")
		if !see(name, value) {
			return false
		}
	}
}

// head reads the lines before the trees.
func (b *booster) head(text *string) bool {
	line, rest, _ := strings.Cut(*text, "\n")
	*text = rest
	seen := map[string]string{}
	if line != "tree" || !pairs(text, func(name, value string) bool {
		if _, twice := seen[name]; twice || !hasWord(boosterHead, name) {
			return false
		}
		seen[name] = value
		return true
	}) {
		return false
	}
	classes, ok := natural(seen["num_class"], mostOutputs)
	each, known := natural(seen["num_tree_per_iteration"], mostOutputs)
	last, counted := natural(seen["max_feature_idx"], mostFeatures)
	label, labelled := natural(seen["label_index"], last)
	if !ok || !known || !counted || !labelled || label < 0 || classes < 1 || each != classes || !hasWord(" v3 v4 ", seen["version"]) || seen["average_output"] != "" {
		return false
	}
	b.features, b.sizes = last+1, seen["tree_sizes"]
	if count(seen["feature_names"]) != b.features || count(seen["feature_infos"]) != b.features {
		return false
	}
	if limits, ok := seen["monotone_constraints"]; ok && count(limits) != b.features {
		return false
	}
	return b.isObjective(seen["objective"], classes) && count(b.sizes)%each == 0
}

const (
	boosterHead = " version num_class num_tree_per_iteration label_index max_feature_idx objective average_output feature_names monotone_constraints feature_infos tree_sizes "
	objectives  = " regression regression_l1 huber fair poisson quantile mape gamma tweedie binary multiclass multiclassova cross_entropy cross_entropy_lambda lambdarank rank_xendcg custom "
)

// isObjective reports whether a text is an objective for this number of classes: an objective for
// another number would write that many results.
func (b *booster) isObjective(text string, classes int64) bool {
	if text == "" {
		return true // a function of the caller's
	}
	name, rest, _ := strings.Cut(text, " ")
	if !hasWord(objectives, name) {
		return false
	}
	stated := false
	for word := range strings.FieldsSeq(rest) {
		key, value, _ := strings.Cut(word, ":")
		switch n, ok := natural(value, mostOutputs); {
		case key == "num_class":
			if !ok || n != classes || stated {
				return false
			}
			stated = true
		case key != "sigmoid" && key != "sqrt" && key != "alpha" || key != "sqrt" && !b.m.isReal(value):
			return false
		}
	}
	return stated == strings.HasPrefix(name, "multiclass") && (stated || classes == 1)
}

// trees reads one tree per size.
func (b *booster) trees(text *string) bool {
	i := int64(0)
	for word := range strings.FieldsSeq(b.sizes) {
		size, ok := natural(word, int64(len(*text)))
		if !ok {
			return false
		}
		one := (*text)[:size]
		line, rest, _ := strings.Cut(one, "\n")
		if line != "Tree="+strconv.FormatInt(i, 10) || !b.tree(rest) {
			return false
		}
		*text = (*text)[size:]
		i++
	}
	return strings.HasPrefix(*text, "end of trees\n")
}

const treeKeys = " num_leaves num_cat split_feature split_gain threshold decision_type left_child right_child leaf_value leaf_weight leaf_count " +
	"internal_value internal_weight internal_count cat_boundaries cat_threshold is_linear shrinkage "

// tree reads one tree, which two empty lines end.
func (b *booster) tree(text string) bool {
	seen := map[string]string{}
	if !pairs(&text, func(name, value string) bool {
		if _, twice := seen[name]; twice || !hasWord(treeKeys, name) {
			return false
		}
		seen[name] = value
		return true
	}) || text != "\n" {
		return false
	}
	leaves, ok := natural(seen["num_leaves"], mostLeaves)
	cats, known := natural(seen["num_cat"], mostLeaves)
	if !ok || !known || leaves < 1 || seen["is_linear"] != "0" && seen["is_linear"] != "" || !b.m.isReal(seen["shrinkage"]) {
		return false
	}
	for _, name := range [...]string{"leaf_value", "leaf_weight", "leaf_count"} {
		if n := count(seen[name]); n != leaves && (name == "leaf_value" || leaves > 1 || n != 0) || !b.areReal(seen[name]) {
			return false
		}
	}
	for _, name := range [...]string{"split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child", "internal_value", "internal_weight", "internal_count"} {
		if count(seen[name]) != leaves-1 || !b.areReal(seen[name]) {
			return false
		}
	}
	return b.boundaries(seen, cats) && b.nodes(seen, leaves, cats)
}

// boundaries checks that the sets of categories are parts of the list of their bits.
func (b *booster) boundaries(seen map[string]string, cats int64) bool {
	if cats == 0 {
		return seen["cat_boundaries"] == "" && seen["cat_threshold"] == ""
	}
	last, first := int64(0), true
	for word := range strings.FieldsSeq(seen["cat_boundaries"]) {
		n, ok := natural(word, mostLeaves)
		if !b.pays() || !ok || n < last || first && n != 0 {
			return false
		}
		last, first = n, false
	}
	for word := range strings.FieldsSeq(seen["cat_threshold"]) {
		if _, ok := natural(word, 1<<32-1); !b.pays() || !ok {
			return false
		}
	}
	return count(seen["cat_boundaries"]) == cats+1 && count(seen["cat_threshold"]) == last
}

// nodes checks that the nodes are a tree: every node and every leaf is the child of one earlier
// node.
func (b *booster) nodes(seen map[string]string, leaves, cats int64) bool {
	if leaves == 1 {
		return true
	}
	b.m.cost += leaves
	if b.m.cost > b.m.allowed() {
		return false // settle ends the run
	}
	depths, err := limits.Make[int32](b.m.tmp, int(2*leaves)) // of nodes, then 1 for each leaf that has a parent
	if err != nil {
		b.m.broke = err
		return false
	}
	defer b.m.tmp.Drop(8 * leaves)
	depths[0] = 1
	left, right, features := seen["left_child"], seen["right_child"], seen["split_feature"]
	types, thresholds := seen["decision_type"], seen["threshold"]
	for i := range leaves - 1 {
		var words [5]string
		for k, list := range [...]*string{&left, &right, &features, &types, &thresholds} {
			words[k], *list, _ = strings.Cut(*list, " ")
		}
		if depths[i] == 0 || depths[i] > deepestTree || !b.child(words[0], i, leaves, depths) || !b.child(words[1], i, leaves, depths) {
			return false
		}
		if _, ok := natural(words[2], b.features-1); !ok {
			return false
		}
		kind, ok := natural(words[3], 11) // 1: of categories, 2: a missing value goes left, 4 and 8: what is missing
		if !ok {
			return false
		}
		if kind&1 != 0 {
			if _, ok := natural(words[4], cats-1); !ok {
				return false
			}
		}
	}
	return true
}

func (b *booster) child(word string, parent, leaves int64, depths []int32) bool {
	digits, isLeaf := strings.CutPrefix(word, "-")
	n, ok := natural(digits, leaves)
	at := n
	if isLeaf {
		at = leaves + n - 1
		ok = ok && n > 0
	} else {
		ok = ok && n > parent && n < leaves-1
	}
	if !ok || depths[at] != 0 {
		return false
	}
	depths[at] = depths[parent] + 1
	return true
}

// rest looks at the parameters after the trees: none names a file that training reads.
func (b *booster) rest(text string) bool {
	for line := range strings.Lines(text) {
		if !b.pays() {
			return false
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "["), ":")
		if ok && hasWord(boosterPaths, name) && strings.Trim(value, " ]") != "" {
			return false
		}
	}
	return true
}

// count is the number of words that single spaces separate, or -1.
func count(list string) int64 {
	if list == "" {
		return 0
	}
	if list[0] == ' ' || list[len(list)-1] == ' ' || strings.Contains(list, "  ") || strings.ContainsAny(list, "\t\r\v\f") {
		return -1
	}
	return int64(strings.Count(list, " ")) + 1
}

// natural reads digits that are at most a number.
func natural(word string, most int64) (int64, bool) {
	if word == "" || len(word) > 18 || strings.Trim(word, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(word, 10, 64)
	return n, err == nil && n <= most
}

// isReal reports whether a word is a number, and pays for its conversion.
func (m *matcher) isReal(word string) bool {
	if strings.Trim(word, "+-.0123456789eEinfa") != "" {
		return false
	}
	_, ok, err := wire.Float(word, func(n int64) error {
		m.cost += n
		return m.settle()
	})
	return ok && err == nil
}

func (b *booster) areReal(list string) bool {
	for word := range strings.FieldsSeq(list) {
		if !b.pays() || !b.m.isReal(word) {
			return false
		}
	}
	return true
}
