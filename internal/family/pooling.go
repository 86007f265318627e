package family

import (
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// lostPooling describes the file of sentence-transformers that is not written, "" if the
// model needs none.
func (s *settings) lostPooling() string {
	n, ok := number(s.keys[s.row.arch+".pooling_type"])
	if !ok || n < 1 || n > 3 {
		return ""
	}
	return "modules.json of sentence-transformers (one vector for a text is made by " + map[float64]string{1: "mean", 2: "cls", 3: "lasttoken"}[n] + ")"
}

// pooling adds how one vector is made of those of the tokens.
func (k *keys) pooling() error {
	if err := k.poolingType(); err != nil {
		return err
	}
	if v := k.c.get("classifier_pooling"); v.There {
		n, ok := pooledBy[v.String()]
		if !ok || n == 3 {
			k.fail("classifier_pooling", v, "cls or mean")
		}
		k.putArch("classifier.pooling_type", n)
	}
	return nil
}

var pooledBy = map[string]uint32{"mean": 1, "cls": 2, "lasttoken": 3}

// poolingType adds what modules.json of sentence-transformers says about pooling.
func (k *keys) poolingType() error {
	modules, err := jsontree.Read(k.b, k.files, "modules.json", maxConfig)
	if err != nil {
		return err
	}
	for _, one := range modules.List() {
		if !strings.HasSuffix(one.Get("type").String(), "Pooling") {
			continue
		}
		name := path.Join(one.Get("path").String(), configName)
		v, err := jsontree.Read(k.b, k.files, name, maxConfig)
		if err != nil {
			return err
		}
		mode := v.Get("pooling_mode").String()
		for _, m := range [][2]string{{"pooling_mode_lasttoken", "lasttoken"}, {"pooling_mode_cls_token", "cls"}, {"pooling_mode_mean_tokens", "mean"}} {
			if v.Get(m[0]).True() {
				mode = m[1]
			}
		}
		n, ok := pooledBy[mode]
		if !ok {
			return wire.At(name, "", v.Off(), wire.ErrUnsupported.Errorf("a pooling that llama.cpp does not have"))
		}
		k.putArch("pooling_type", n)
		break
	}
	return nil
}
