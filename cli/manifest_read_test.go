package cli

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A manifest of many entries costs what the account allows, and what is none is refused.
func TestManifestsAreCharged(t *testing.T) {
	const begin = `{"schema":"amn.digest/1","path":"m","model":"ab","other":[{"x":1}],"tensors":[`
	for _, c := range []struct {
		name, text string
		class      wire.Class
		models     int
	}{
		{"two models", begin + `{"name":"a","dtype":"F32","shape":[2,3],"bytes":24,"sha256":"00"}]}` + "\n" + begin + "]}\n", wire.OK, 2},
		{"nothing", "", wire.OK, 0},
		{"entries of three bytes", begin + strings.Repeat("{},", 1<<16) + `{}]}`, wire.Limit, 0},
		{"names", begin + strings.Repeat(`{"name":"`+strings.Repeat("a", 1<<12)+`"},`, 1<<9) + `{}]}`, wire.Limit, 0},
	} {
		b := limits.Policy{MaxTotalBytes: 1 << 20}.Budget(t.Context())
		r, models := newManifestReader(b, strings.NewReader(c.text)), 0
		m, err := r.next()
		for ; err == nil; m, err = r.next() {
			if models++; m.Path != "m" {
				t.Errorf("%s: %+v", c.name, m)
			}
		}
		if err == io.EOF {
			err = nil
		}
		if wire.ClassOf(err) != c.class || models != c.models {
			t.Errorf("%s: %d models, %v", c.name, models, err)
		}
		b.Close()
	}
	for _, text := range []string{
		"[]", "{}", "x", begin, begin + "]", begin + "1]}", begin + `{"name":1}]}`, begin + `{"shape":"x"}]}`, `{"schema":"amn.digest/1","model":"a","tensors":{}}`,
		begin + `{"shape":[` + strings.Repeat("1,", maxShapeText) + `1]}]}`, `{"schema":"amn.digest/2","model":"a"}`,
	} {
		b := limits.Policy{MaxTotalBytes: 1 << 20}.Budget(t.Context())
		if _, err := newManifestReader(b, strings.NewReader(text)).next(); !errors.Is(err, errManifest) {
			t.Errorf("%.60s: %v", text, err)
		}
		b.Close()
	}
}
