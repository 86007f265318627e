package vm

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

// The rule of XGBoost's boosters. A pickle of one holds what the library wrote as UBJSON since 1.6
// (src/learner.cc, src/gbm/gbtree_model.cc, src/tree/tree_model.cc): compiled code compares the
// lengths of arrays, but follows children, parents, features, groups and categories without looking.

const mostXGBThreads = 1024
const mostBitsOfByte = 64 // bytes of sets of categories for each byte of the booster
const deletedFeature = 1<<31 - 1

// checkXGBoost checks that the bytes of a booster are a model whose numbers are consistent.
func (m *matcher) checkXGBoost(c *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	handle := m.valueAt(state, "handle")
	x := xgbooster{matcher: m, set: c.set}
	for _, name := range [...]string{"best_iteration", "best_ntree_limit"} { // before 2.0
		n := m.valueAt(state, name)
		if n == refAbsent {
			continue
		}
		best, ok := m.g.int64(n)
		if !ok || best < 0 || best > mostLeaves || handle == refNone {
			return false
		}
		x.best(name, best)
	}
	if handle == refNone {
		return true
	}
	if handle == refAbsent || m.g.kind(handle) != KindBytes {
		return false
	}
	data := m.g.text(handle)
	whole, rest, ok := m.ubjValue(data, 0)
	if !ok || rest != "" {
		return false
	}
	both, ok := m.members(whole, " Config Model ")
	if !ok || len(both) != 2 {
		return false
	}
	x.bits = mostBitsOfByte * int64(len(data))
	return x.model(both.value("Model")) && x.config(both.value("Config")) && x.lastRound <= x.roundCount && x.lastTree <= max(x.roundCount, x.treeCount)
}

// best notes a number of rounds or trees that predicting stops after. A booster of dart reads trees up
// to it, whether or not they are there (XGBoost 1.6), and predicting adds one to the number of a round.
func (x *xgbooster) best(name string, n int64) {
	if name == "best_iteration" {
		x.lastRound = max(x.lastRound, n+1)
	} else {
		x.lastTree = max(x.lastTree, n)
	}
}

type xgbooster struct {
	*matcher
	set               *ClassSet
	features, outputs int64
	objective, name   string
	params            string // learner_model_param of the model
	bits              int64  // bytes that sets of categories may still take

	roundCount, treeCount int64 // that the model has
	lastRound, lastTree   int64 // that predicting stops after, or 0
}

// learner returns the member learner of an object that also has a version.
func (x *xgbooster) learner(s, known string) (ubjMembers, bool) {
	top, ok := x.members(s, " learner version ")
	if !ok || len(top) != 2 {
		return nil, false
	}
	var parts []string
	n, ok := x.each(top.value("version"), func(i int64, one string) bool {
		part, ok := ubjInteger(one, 1<<16)
		parts = append(parts, strconv.FormatInt(part, 10))
		return ok && i < 3
	})
	if !ok || n != 3 || !x.isVersion(x.set.Versions(), strings.Join(parts, ".")) {
		return nil, false
	}
	return x.members(top.value("learner"), known)
}

func (x *xgbooster) model(s string) bool {
	l, ok := x.learner(s, " attributes feature_names feature_types gradient_booster learner_model_param objective ")
	if !ok || !x.areAttributes(l.value("attributes")) {
		return false
	}
	x.params = l.value("learner_model_param")
	if !x.modelParams(x.params) || !x.isObjective(l.value("objective")) {
		return false
	}
	for _, name := range [...]string{"feature_names", "feature_types"} {
		n, ok := x.each(l.value(name), func(_ int64, one string) bool {
			_, ok := ubjText(one)
			return ok
		})
		if !ok || n != 0 && n != x.features {
			return false
		}
	}
	return x.boosting(l.value("gradient_booster"))
}

// areAttributes reports whether all members of an object are texts, and the numbers of rounds among
// them such that exist.
func (x *xgbooster) areAttributes(s string) bool {
	if s == "" || s[0] != '{' {
		return false
	}
	_, ok := x.ubjObject(s[1:], 0, func(name, value string) bool {
		text, ok := ubjText(value)
		if ok && hasWord(" best_iteration best_ntree_limit ", name) {
			var n int64
			n, ok = natural(text, mostLeaves)
			x.best(name, n)
		}
		return ok
	})
	return ok
}

func (x *xgbooster) modelParams(s string) bool {
	p, ok := x.members(s, " base_score boost_from_average num_class num_feature num_target ")
	if !ok {
		return false
	}
	features, ok := natural(p.text("num_feature"), mostFeatures)
	classes, known := natural(p.text("num_class"), mostOutputs)
	if !ok || !known || !hasWord(" 0 1 ", orWord(p.text("boost_from_average"), "1")) {
		return false
	}
	targets, ok := natural(orWord(p.text("num_target"), "1"), mostOutputs)
	if !ok || targets < 1 || targets > 1 && classes > 1 {
		return false
	}
	x.features, x.outputs = features, max(classes, targets)
	scores := strings.Split(strings.TrimSuffix(strings.TrimPrefix(p.text("base_score"), "["), "]"), ",")
	for _, one := range scores {
		if x.cost++; x.settle() != nil || !x.isReal(strings.TrimSpace(one)) || one == "" {
			return false
		}
	}
	return len(scores) == 1 || int64(len(scores)) == x.outputs
}

// orWord returns a text, or another if it is empty.
func orWord(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

const xgbObjectives = " reg:squarederror reg:squaredlogerror reg:logistic reg:pseudohubererror reg:absoluteerror reg:quantileerror reg:gamma reg:tweedie reg:linear " +
	"binary:logistic binary:logitraw binary:hinge count:poisson survival:cox survival:aft multi:softmax multi:softprob rank:pairwise rank:ndcg rank:map "
const xgbObjectiveKeys = " name reg_loss_param softmax_multiclass_param poisson_regression_param tweedie_regression_param pseudo_huber_param pseduo_huber_param quantile_loss_param aft_loss_param lambdarank_param lambda_rank_param "

// isObjective reports whether an objective writes as many results as the model has.
func (x *xgbooster) isObjective(s string) bool {
	o, ok := x.members(s, xgbObjectiveKeys)
	name := o.text("name")
	if !ok || !hasWord(xgbObjectives, name) || x.objective != "" && x.objective != name {
		return false
	}
	x.objective = name
	for _, one := range o {
		if one.name != "name" && !x.isSettings(one.value, 0) {
			return false
		}
	}
	classes := o.value("softmax_multiclass_param")
	if !strings.HasPrefix(name, "multi:") {
		return classes == ""
	}
	p, ok := x.members(classes, " num_class ")
	n, known := natural(p.text("num_class"), mostOutputs)
	return ok && known && n >= 1 && n == x.outputs
}

// boosting reads the trees, trees with weights, or the weights of a linear model.
func (x *xgbooster) boosting(s string) bool {
	b, ok := x.members(s, " gbtree model name weight_drop ")
	if !ok {
		return false
	}
	weights := b.value("weight_drop")
	switch x.name = b.text("name"); x.name {
	case "gbtree": // since 3.3 with weights as well
		return b.value("gbtree") == "" && x.trees(b.value("model"), weights)
	case "dart":
		inner, ok := x.members(b.value("gbtree"), " model name ")
		return ok && len(b) == 3 && len(inner) == 2 && inner.text("name") == "gbtree" && weights != "" && x.trees(inner.value("model"), weights)
	case "gblinear":
		model, ok := x.members(b.value("model"), " boosted_rounds weights ")
		rounds, known := ubjInteger(model.value("boosted_rounds"), 1<<31-1)
		if x.roundCount = rounds; !ok || len(b) != 2 || !known {
			return false
		}
		_, ok = ubjNumbers(model.value("weights"), 'd', (x.features+1)*x.outputs)
		return ok
	}
	return false
}

// trees reads the model of a booster of trees, whose weights are those of dart.
func (x *xgbooster) trees(s, weights string) bool {
	t, ok := x.members(s, " cats gbtree_model_param iteration_indptr tree_info trees weight_drop ")
	if !ok || !x.hasNoTable(t.value("cats")) {
		return false
	}
	p, ok := x.members(t.value("gbtree_model_param"), " num_parallel_tree num_trees size_leaf_vector ")
	parallel, known := natural(p.text("num_parallel_tree"), mostLeaves)
	if !ok || !known || parallel < 1 || !hasWord(" 0 1 ", orWord(p.text("size_leaf_vector"), "0")) {
		return false
	}
	count, ok := x.each(t.value("trees"), x.tree)
	if stated, known := natural(p.text("num_trees"), mostLeaves); !ok || !known || stated != count {
		return false
	}
	groups, ok := x.each(t.value("tree_info"), func(_ int64, one string) bool {
		_, ok := ubjInteger(one, x.outputs-1)
		return ok
	})
	if !ok || groups != count {
		return false
	}
	for _, list := range [...]string{weights, t.value("weight_drop")} {
		n, ok := x.each(list, func(_ int64, one string) bool { return one[0] == 'd' })
		if list != "" && (!ok || n != count) {
			return false
		}
	}
	return x.rounds(t.value("iteration_indptr"), count, parallel*x.outputs)
}

// hasNoTable reports whether there is no table of categories: its columns would be read as those
// of a frame.
func (x *xgbooster) hasNoTable(s string) bool {
	if s == "" {
		return true
	}
	c, ok := x.members(s, " enc feature_segments sorted_idx ")
	for _, name := range [...]string{"enc", "feature_segments", "sorted_idx"} {
		list := c.value(name)
		ok = ok && strings.HasPrefix(list, "[") && strings.HasSuffix(list, "#L\x00\x00\x00\x00\x00\x00\x00\x00")
	}
	return ok
}

// rounds reads where the trees of each round begin.
func (x *xgbooster) rounds(s string, trees, each int64) bool {
	x.treeCount, x.roundCount = trees, trees/each
	if s == "" { // before 2.0
		return trees%each == 0
	}
	last := int64(0)
	n, ok := x.each(s, func(i int64, one string) bool {
		at, ok := ubjInteger(one, trees)
		ok = ok && at >= last && (i > 0 || at == 0)
		last = at
		return ok
	})
	x.roundCount = n - 1
	return ok && n > 0 && last == trees
}

const xgbTreeKeys = " base_weights categories categories_nodes categories_segments categories_sizes default_left id left_children loss_changes parents right_children split_conditions split_indices split_type sum_hessian tree_param "

// tree reads one tree.
func (x *xgbooster) tree(i int64, s string) bool {
	t, ok := x.members(s, xgbTreeKeys)
	if !ok {
		return false
	}
	p, ok := x.members(t.value("tree_param"), " num_deleted num_feature num_nodes size_leaf_vector ")
	if id, known := ubjInteger(t.value("id"), 1<<31-1); !ok || !known || id != i || !hasWord(" 0 1 ", p.text("size_leaf_vector")) {
		return false
	}
	nodes, ok := natural(p.text("num_nodes"), mostLeaves)
	deleted, known := natural(p.text("num_deleted"), mostLeaves)
	if features, stated := natural(p.text("num_feature"), mostFeatures); !ok || !known || !stated || nodes < 1 || features != x.features {
		return false
	}
	for _, name := range [...]string{"base_weights", "loss_changes", "split_conditions", "sum_hessian"} {
		if _, ok := ubjNumbers(t.value(name), 'd', nodes); !ok {
			return false
		}
	}
	n := xgbNodes{count: nodes}
	for _, list := range [...]struct {
		to     *string
		name   string
		marker byte
	}{{&n.left, "left_children", 'l'}, {&n.right, "right_children", 'l'}, {&n.parents, "parents", 'l'}, {&n.features, "split_indices", 'l'}, {&n.missing, "default_left", 'U'}} {
		if *list.to, ok = ubjNumbers(t.value(list.name), list.marker, nodes); !ok {
			return false
		}
	}
	return x.sets(t, nodes) && x.follow(&n, deleted)
}

// sets reads which nodes split by a set of categories: each has its own part of the list of
// categories, in the order of the nodes.
func (x *xgbooster) sets(t ubjMembers, nodes int64) bool {
	types, ok := ubjNumbers(t.value("split_type"), 'U', nodes)
	of, known := ubjNumbers(t.value("categories_nodes"), 'l', -1)
	begins, first := ubjNumbers(t.value("categories_segments"), 'L', int64(len(of)/4))
	sizes, last := ubjNumbers(t.value("categories_sizes"), 'L', int64(len(of)/4))
	every, all := ubjNumbers(t.value("categories"), 'l', -1)
	if !ok || !known || !first || !last || !all {
		return false
	}
	x.cost += nodes/8 + int64(len(every)/32)
	at, end := 0, int64(0)
	for i := range nodes {
		switch {
		case types[i] > 1:
			return false
		case types[i] == 0:
			continue
		case at+4 > len(of) || ubjNumber(of[at:at+4], true) != i || ubjNumber(begins[2*at:2*at+8], true) != end:
			return false
		}
		n := ubjNumber(sizes[2*at:2*at+8], true)
		if n < 1 || n > int64(len(every)/4)-end || !x.areCategories(every[4*end:4*(end+n)]) {
			return false
		}
		at, end = at+4, end+n
	}
	return at == len(of) && 4*end == int64(len(every))
}

// areCategories reports whether a list is one of categories, whose bits are kept up to the last.
func (x *xgbooster) areCategories(list string) bool {
	most := int64(0)
	for ; list != ""; list = list[4:] {
		n := ubjNumber(list[:4], true)
		if n < 0 || n >= mostLeaves {
			return false
		}
		most = max(most, n)
	}
	x.bits -= most/8 + 4
	return x.bits >= 0
}

type xgbNodes struct {
	count                                   int64
	left, right, parents, features, missing string
}

func (n *xgbNodes) at(list string, i int64) int64 { return ubjNumber(list[4*i:4*i+4], true) }

// follow checks that the nodes are one tree, and that all others are said to be deleted. Pruning
// leaves places that later nodes take, so that a child may come before its parent.
func (x *xgbooster) follow(n *xgbNodes, deleted int64) bool {
	x.cost += n.count
	if x.cost > x.allowed() {
		return false // settle ends the run
	}
	depths, err := limits.Make[int32](x.tmp, int(n.count)) // of the nodes that were reached
	if err != nil {
		x.broke = err
		return false
	}
	defer x.tmp.Drop(4 * n.count)
	depths[0] = 1
	reached := int64(1)
	for at := int64(0); ; {
		child, ok := x.next(n, depths, at)
		if !ok {
			return false
		}
		switch {
		case child >= 0:
			depths[child] = depths[at] + 1
			reached++
			at = child
		case at == 0:
			return reached+deleted == n.count && n.restIsDeleted(depths)
		default:
			at = n.at(n.parents, at)
		}
	}
}

// next returns a child of a node that was not reached yet, or -1.
func (x *xgbooster) next(n *xgbNodes, depths []int32, at int64) (int64, bool) {
	left, right := n.at(n.left, at), n.at(n.right, at)
	if left == -1 {
		return -1, right == -1 && n.missing[at] <= 1
	}
	if f := n.at(n.features, at); left == right || f < 0 || f >= x.features || depths[at] > deepestTree || n.missing[at] > 1 {
		return 0, false
	}
	for _, child := range [...]int64{left, right} {
		if child < 1 || child >= n.count || n.at(n.parents, child) != at {
			return 0, false
		}
	}
	switch {
	case depths[left] == 0:
		return left, true
	case depths[right] == 0:
		return right, true
	}
	return -1, true
}

// restIsDeleted reports whether the nodes that no other leads to have the mark of deleted ones.
func (n *xgbNodes) restIsDeleted(depths []int32) bool {
	for i, depth := range depths {
		if depth != 0 {
			continue
		}
		if parent := n.at(n.parents, int64(i)); parent < 0 || parent >= n.count || n.at(n.features, int64(i)) != deletedFeature || n.missing[i] != 1 {
			return false
		}
	}
	return true
}

const xgbConfigKeys = " generic_param gradient_booster learner_model_param learner_train_param metrics objective "
const mostSetting = 8192 // the state of a random generator has 6,900

// config reads the settings of training, which the loader takes for those of its own version. The
// objective and the booster are those of the model, since their parts get these settings.
func (x *xgbooster) config(s string) bool {
	c, ok := x.learner(s, xgbConfigKeys)
	if !ok || c.value("learner_model_param") != "" && c.value("learner_model_param") != x.params || !x.isObjective(c.value("objective")) {
		return false
	}
	for _, one := range c {
		if one.name != "objective" && !x.isSettings(one.value, 0) {
			return false
		}
	}
	train := c.value("learner_train_param")
	return x.setting(c.value("gradient_booster"), "name") == x.name && x.setting(train, "booster") == x.name && x.setting(train, "objective") == x.objective
}

// setting returns a text of an object, or "".
func (x *xgbooster) setting(s, name string) (text string) {
	if s == "" || s[0] != '{' {
		return ""
	}
	x.ubjObject(s[1:], 0, func(one, value string) bool {
		if one == name {
			text, _ = ubjText(value)
		}
		return true
	})
	return text
}

// isSettings reports whether a value of the configuration holds only numbers and words, and no
// number of threads that no machine has.
func (x *xgbooster) isSettings(s string, depth int) bool {
	if s == "" || depth > ubjDepth {
		return false
	}
	switch s[0] {
	case 'S':
		text, _ := ubjText(s)
		return isSetting(text)
	case '[':
		if strings.HasPrefix(s, "[$") {
			return true
		}
		_, ok := x.each(s, func(_ int64, one string) bool { return x.isSettings(one, depth+1) })
		return ok
	case '{':
		seen := map[string]bool{}
		_, ok := x.ubjObject(s[1:], depth, func(name, value string) bool {
			if seen[name] || len(seen) == ubjMost || !isSetting(name) {
				return false
			}
			seen[name] = true
			if name == "nthread" || name == "n_jobs" {
				text, _ := ubjText(value)
				n, err := strconv.Atoi(text)
				return err == nil && n <= mostXGBThreads
			}
			return x.isSettings(value, depth+1)
		})
		return ok
	}
	return true
}

// isSetting reports whether a text could be a name or a value of a parameter, which no path is.
func isSetting(text string) bool {
	return len(text) <= mostSetting && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:@.,+-[]() ") == ""
}
