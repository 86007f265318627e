package family

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Qwen3's rerankers are language models of which only the scores of two tokens are used. The
// converter recognizes them by name, and writes a head made of the embeddings of the two.

const (
	readmeName = "README.md"
	maxReadme  = 16 << 20
	// rankPooling is pooling_type of a reranker.
	rankPooling = 4
	rankLayout  = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n" +
		"<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: {document}<|im_end|>\n" +
		"<|im_start|>assistant\n<think>\n\n</think>\n\n"
)

// rankHead is the head of a reranker, made of the embeddings of rankAnswers.
const rankHead = "cls.output.weight"

var rankAnswers = [2]string{"yes", "no"}

// detectReranker finds out whether the model is a reranker.
func (p *planner) detectReranker() error {
	if !p.c.row.classifier.reranks {
		return nil
	}
	named := func(text string) bool {
		text = strings.ToLower(text)
		return strings.Contains(text, "qwen3-reranker") || strings.Contains(text, "qwen3-vl-reranker")
	}
	p.c.reranker = named(p.o.Name) || named(p.c.get("_name_or_path").String()) || named(p.c.get("model_type").String())
	if p.c.reranker {
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
	p.c.reranker = strings.Contains(text, "# qwen3-reranker") || strings.Contains(text, "# qwen3-vl-reranker")
	return nil
}

// makeRankHead makes the head from two rows of the token embedding.
func (p *planner) makeRankHead(i *tensor.Info) error {
	t, err := tokenizer.ReadJSON(p.b, p.m.Configs(), tokenizer.FileName)
	if err != nil {
		return err
	}
	head := Tensor{Name: rankHead, Shape: []int64{2, i.Shape[1]}}
	head.DType = p.dtypeFor(&mapping{}, head.Name, 2, i.DType)
	for _, text := range rankAnswers {
		id, ok := t.ID(text)
		if !ok || int64(id) >= i.Shape[0] {
			return wire.At(tokenizer.FileName, "", wire.NoOffset, wire.ErrMissing.Errorf("there is no token %s, with which a reranker answers", wire.Quote(text)))
		}
		part := Part{Info: *i, From: int64(id), Rows: 1}
		if head.Parts, err = limits.Append(p.b, head.Parts, part); err != nil {
			return err
		}
	}
	p.madeRankHead = true
	return p.add(head)
}

// isRankSource reports the tensor that the head is made of.
func (p *planner) isRankSource(at *location) bool {
	want := "output"
	if p.c.tied() {
		want = "token_embd"
	}
	return p.c.reranker && at.outer && at.name.gguf == want
}

// rankKeys adds the keys of a reranker.
func (k *keys) rankKeys() {
	if !k.c.reranker {
		return
	}
	k.putArch("pooling_type", uint32(rankPooling))
	k.putArch("classifier.output_labels", []string{rankAnswers[0], rankAnswers[1]})
	k.put("tokenizer.chat_template.rerank", rankLayout)
	k.put("tokenizer.chat_templates", []string{"rerank"})
}

// rerankerMembers reads the keys of a reranker, and puts a name by which it is recognized.
func (s *settings) rerankerMembers() {
	if n, _ := s.int("pooling_type"); n != rankPooling || !s.row.classifier.reranks {
		return // what others have is of sentence-transformers: see pooled
	}
	_, _ = s.key("classifier.output_labels")
	s.put("_name_or_path", `"Qwen3-Reranker"`)
}

// checkRankHead proves that the head of a reranker equals two rows of the token embedding,
// so that the folder does not need it.
func (p *planner) checkRankHead(s *settings) error {
	head, table := s.tensors[rankHead], s.tensors["token_embd.weight"]
	if !s.row.classifier.reranks || head == nil || table == nil {
		return nil
	}
	fail := func(format string, args ...any) error {
		return wire.At("gguf", "tensor "+wire.Quote(rankHead), head.Span.Off, wire.ErrUnsupported.Errorf(format, args...))
	}
	g, _ := head.DType.Geometry()
	if head.DType != table.DType || g.Elems != 1 || len(head.Shape) != 2 || len(table.Shape) != 2 || head.Shape[0] != 2 || head.Shape[1] != table.Shape[1] {
		return fail("it is %s of %v, but must be two rows of a table of %s: it cannot be compared", head.TypeName(), head.Shape, table.TypeName())
	}
	ids := [2]int64{-1, -1}
	if tokens := s.array("tokens"); tokens != nil {
		n := int64(0)
		for text, err := range tokens.Strings(p.b) {
			if err != nil {
				return err
			}
			for k, want := range rankAnswers {
				if text == want {
					ids[k] = n
				}
			}
			n++
		}
	}
	row := head.Shape[1] * int64(g.Bytes)
	for k, id := range ids {
		if id < 0 || id >= table.Shape[0] {
			return fail("there is no token %s, whose row it must have", wire.Quote(rankAnswers[k]))
		}
		same, err := p.equalBytes(head, int64(k)*row, table, id*row, row)
		if err != nil || !same {
			return cmp.Or(err, fail("its row %d differs from the row of the token %s", k, wire.Quote(rankAnswers[k])))
		}
	}
	p.madeRankHead = true
	return nil
}

// equalBytes compares n bytes of two tensors.
func (p *planner) equalBytes(a *tensor.Info, from int64, b *tensor.Info, at, n int64) (bool, error) {
	const most = 16 << 10
	var x, y [most]byte
	ra, ok := p.m.At(*a)
	rb, also := p.m.At(*b)
	if !ok || !also {
		return false, wire.ErrUnsupported.Errorf("it cannot be read at an offset")
	}
	for off := int64(0); off < n; off += most {
		some := min(most, n-off)
		if err := p.b.Step(1); err != nil {
			return false, err
		}
		if err := wire.ReadFull(ra, x[:some], from+off); err != nil {
			return false, err
		}
		if err := wire.ReadFull(rb, y[:some], at+off); err != nil {
			return false, err
		}
		if !bytes.Equal(x[:some], y[:some]) {
			return false, nil
		}
	}
	return true, nil
}
