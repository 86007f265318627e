package family

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Qwen3's rerankers are models of language of which the scores of two tokens count. The
// converter knows them by their names, and gives llama.cpp a head of these two rows.

const (
	readmeName = "README.md"
	maxReadme  = 16 << 20
	rankLayout = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n" +
		"<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: {document}<|im_end|>\n" +
		"<|im_start|>assistant\n<think>\n\n</think>\n\n"
)

// rankers finds out whether the model is one.
func (p *planner) rankers() error {
	if !p.c.row.ranks {
		return nil
	}
	named := func(text string) bool {
		text = strings.ToLower(text)
		return strings.Contains(text, "qwen3-reranker") || strings.Contains(text, "qwen3-vl-reranker")
	}
	p.c.ranks = named(p.o.Name) || named(p.c.get("_name_or_path").String()) || named(p.c.get("model_type").String())
	if p.c.ranks {
		return nil
	}
	text, err := jsontree.ReadText(p.b, p.m.Configs(), readmeName, maxReadme)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	size := int64(len(text))
	if err := p.b.Hold(size); err != nil { // of the copy in lower case
		return err
	}
	defer p.b.Drop(size)
	text = strings.ToLower(text)
	p.c.ranks = strings.Contains(text, "# qwen3-reranker") || strings.Contains(text, "# qwen3-vl-reranker")
	return nil
}

// rank makes the head of the rows of a table of tokens.
func (p *planner) rank(i *tensor.Info) error {
	t, err := tokenizer.ReadJSON(p.b, p.m.Configs(), tokenizer.FileName)
	if err != nil {
		return err
	}
	head := Tensor{Name: "cls.output.weight", Shape: []int64{2, i.Shape[1]}}
	head.DType = p.typed(&name{}, head.Name, 2, i.DType)
	for _, text := range []string{"yes", "no"} {
		id, ok := t.ID(text)
		if !ok || int64(id) >= i.Shape[0] {
			return wire.At(tokenizer.FileName, "", wire.NoOffset, wire.ErrMissing.With("there is no token %s, which a reranker answers with", wire.Quote(text)))
		}
		part := Part{Info: *i, From: int64(id), Rows: 1}
		if head.Parts, err = limits.Append(p.b, head.Parts, part); err != nil {
			return err
		}
	}
	p.ranked = true
	return p.add(head)
}

// ranksBy reports the tensor that the head is made of.
func (p *planner) ranksBy(at *place) bool {
	want := "output"
	if p.c.tied() {
		want = "token_embd"
	}
	return p.c.ranks && at.outer && at.name.gguf == want
}

// rankKeys are those of a reranker.
func (k *keys) rankKeys() {
	if !k.c.ranks {
		return
	}
	k.own("pooling_type", uint32(4))
	k.own("classifier.output_labels", []string{"yes", "no"})
	k.put("tokenizer.chat_template.rerank", rankLayout)
	k.put("tokenizer.chat_templates", []string{"rerank"})
}
