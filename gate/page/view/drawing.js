// The model as it computes, from top to bottom: its parts in the order of the file, equal layers
// as one box with their number. Each box chooses its module.
function drawing(state) {
  const { r, root } = state;
  // Layers are equal if their tensors have the same names and shapes.
  const signature = (node) => {
    const out = [];
    const stack = [node];
    while (stack.length && out.length < 400) {
      const n = stack.pop();
      if (n.tensor !== undefined) out.push(n.path.slice(node.path.length) + shapeText(r.tensors[n.tensor][2]));
      stack.push(...n.kids.values());
    }
    return out.sort().join();
  };
  const button = (node, text, more) => el("button", { type: "button", class: "box", title: node.path, onclick: () => state.choose(node, true) }, el("b", {}, text), more ? " " : "", more ? el("span", {}, more) : "");
  const sizes = (node) => (node.elements ? short(node.elements) : "") + (node.types.size === 1 ? " " + [...node.types.keys()][0] : "");
  // The parts of a layer: attention, feed-forward, norms, experts.
  const parts = (node, depth) => {
    const out = el("div", { class: "inside" });
    const flat = new Map(); // of GGUF, whose parts are one word: attn_q, attn_k, ffn_up
    const kids = [...kidsOf(node)].sort((a, b) => within(a) - within(b));
    for (const k of kids) {
      if (isStack(k)) {
        const [first] = kidsOf(k);
        out.append(el("div", { class: "stack" }, button(k, k.label + " × " + count(kidsOf(k).length), sizes(k)), depth < 2 ? parts(first, depth + 1) : ""));
        continue;
      }
      const word = /^(attn|ffn|ssm|cross_attn|enc|dec|exp)_/.exec(k.label);
      if (!word) {
        out.append(button(k, k.label, sizes(k)));
        continue;
      }
      if (!flat.has(word[1])) {
        flat.set(word[1], []);
        out.append(el("div", { class: "flat", "data-word": word[1] }));
      }
      flat.get(word[1]).push(k);
    }
    for (const [word, list] of flat) {
      const place = out.querySelector('[data-word="' + word + '"]');
      place.append(...list.map((k) => button(k, k.label.replace(/\.(weight|bias)$/, ""), sizes(k))));
    }
    return out;
  };
  // In the order of computation, as far as names tell it: files are often in the order of names.
  const places = [/(^|[._])(embed|embeddings?|embed_tokens|tok(en)?_embd|wte|wpe|patch_embd?|stem|conv1)([._]|$)/, /^$/, /(^|[._])(final_?norm|norm|ln_f|output_norm|final_layer_norm|layernorm)(\.|$)/, /(^|[._])(lm_head|head|output|score|classifier|fc|logits)(\.|$)/];
  const rank = (node) => {
    const at = isStack(node) ? -1 : places.findIndex((p) => p.test(node.path));
    return at < 0 ? 1 : at;
  };
  const inLayer = [/(input|attn|pre_?attention|ln_1|norm1)[._a-z]*norm|ln_1|attn_norm/, /attn|attention|mixer|ssm|conv/, /norm|ln_2/, /mlp|ffn|feed|moe|experts|fc|router|gate/];
  const within = (k) => (inLayer.findIndex((p) => p.test(k.label)) + 5) % 5;
  const flow = el("div", { class: "flow" });
  const add = (node) => {
    if (isStack(node)) {
      let same = [];
      const end = () => {
        if (!same.length) return;
        const [first] = same;
        const range = same.length > 1 ? first.label + " to " + same[same.length - 1].label + " × " + count(same.length) : first.label;
        const size = same.reduce((n, k) => n + k.elements, 0);
        flow.append(el("div", { class: "stack" }, button(same.length > 1 ? node : first, node.path + " " + range, short(size)), first.kids.size ? parts(first, 0) : ""));
        same = [];
      };
      let last = "";
      for (const k of kidsOf(node)) {
        const s = signature(k);
        if (s !== last) end();
        last = s;
        same.push(k);
      }
      return end();
    }
    const kids = kidsOf(node);
    // A module whose parts hold stacks is drawn by its parts.
    const holds = (n, depth) => isStack(n) || (depth < 3 && kidsOf(n).some((k) => holds(k, depth + 1)));
    if (kids.length && holds(node, 0)) return [...kids].sort((a, b) => rank(a) - rank(b)).forEach(add);
    flow.append(button(node, node.path, sizes(node)));
  };
  kidsOf(root).slice(0, 64).sort((a, b) => rank(a) - rank(b)).forEach(add);
  if (!flow.querySelector(".stack") || flow.children.length > 200) return "";
  // What GGUF's keys or the configuration state.
  const wanted = [
    [/(^|\.)(architecture|model_type)$/, "Architecture"], [/\.(block_count)$|^num_hidden_layers$/, "Layers"], [/\.embedding_length$|^hidden_size$/, "Width"],
    [/\.attention\.head_count$|^num_attention_heads$/, "Heads"], [/\.attention\.head_count_kv$|^num_key_value_heads$/, "Key and value heads"], [/\.feed_forward_length$|^intermediate_size$/, "Feed-forward"],
    [/\.expert_count$|^(num_experts|num_local_experts|n_routed_experts)$/, "Experts"], [/\.expert_used_count$|^num_experts_per_tok$/, "Experts a token"],
    [/\.vocab_size$|^vocab_size$/, "Vocabulary"], [/\.context_length$|^max_position_embeddings$/, "Context"], [/\.attention\.sliding_window$|^sliding_window$/, "Window"],
  ];
  const facts = el("dl", { class: "facts" });
  for (const [key, name] of wanted) {
    const p = [...(r.config || []), ...r.metadata].find((m) => key.test(m.key) && m.value !== undefined && m.value !== null);
    if (p) facts.append(el("dt", {}, name), el("dd", {}, /^\d{4,}$/.test(p.value) ? count(p.value) : String(p.value)));
  }
  return section("The model", "h-model", el("div", { class: "drawing" }, flow, facts));
}
