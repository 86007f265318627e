package verify

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A manifest of many entries ends at the account's limit, and a text that is not a manifest is
// refused.
func TestManifestsAreCharged(t *testing.T) {
	const begin = `{"schema":"amn.digest/1","path":"m","format":"gguf","class":"ok","exit":0,"model":"ab","files":[],"tensors":[`
	const entry = `{"name":"a","dtype":"F32","shape":[2,3],"bytes":24,"sha256":"00"}`
	for _, c := range []struct {
		name, text string
		class      wire.Class
		models     int
	}{
		{"two models", begin + entry + "]}\n" + begin + "]}\n", wire.OK, 2},
		{"nothing", "", wire.OK, 0},
		{"short entries", begin + strings.Repeat(entry+",", 1<<14) + entry + "]}", wire.Limit, 0},
		{"names", begin + strings.Repeat(strings.Replace(entry, `"a"`, `"`+strings.Repeat("a", 1<<12)+`"`, 1)+",", 1<<9) + entry + "]}", wire.Limit, 0},
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
		strings.Replace(begin+entry+"]}", "[2,3]", "["+strings.Repeat("1,", maxDimensions)+"1]", 1), strings.Replace(begin, "/1", "/2", 1) + "]}",
		begin + "{}]}", begin + entry + `],"model":"ab"}`, strings.Replace(begin, `"ok"`, `"limit"`, 1) + "]}", strings.Replace(begin, `"files":[],`, "", 1) + "]}",
		begin + strings.Replace(entry, `"sha256":"00"`, `"sha256":"00","sha256":"01"`, 1) + "]}", begin + strings.Replace(entry, `,"bytes":24`, "", 1) + "]}",
	} {
		b := limits.Policy{MaxTotalBytes: 1 << 20}.Budget(t.Context())
		if _, err := newManifestReader(b, strings.NewReader(text)).next(); !errors.Is(err, errManifest) {
			t.Errorf("%.60s: %v", text, err)
		}
		b.Close()
	}
	// A manifest with members that are not compared is refused; the case of names matters.
	for _, text := range []string{
		begin + `],"signed":true}`, begin + strings.Replace(entry, "sha256", "SHA256", 1) + "]}", begin + strings.Replace(entry, `"00"`, `"00","SHA256":"01"`, 1) + "]}",
	} {
		b := limits.Policy{}.Budget(t.Context())
		if _, err := newManifestReader(b, strings.NewReader(text)).next(); wire.ClassOf(err) != wire.Unsupported {
			t.Errorf("%s: %v", text, err)
		}
		b.Close()
	}
}
