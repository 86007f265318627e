package remote_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/remote"
)

const otherSHA = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

func listOf(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) remote.Options {
	s := httptest.NewServer(http.HandlerFunc(answer))
	t.Cleanup(s.Close)
	return remote.Options{Hub: s.URL, AllowPrivate: true}
}

func TestRepositoriesAreListedByPages(t *testing.T) {
	o := listOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/models" || r.URL.Query().Get("author") != "me" {
			http.NotFound(w, r)
			return
		}
		if r.URL.Query().Get("cursor") == "" {
			w.Header().Set("Link", `<https://elsewhere.example/api/models?author=you&cursor=two%3D>; rel="next"`)
			fmt.Fprintf(w, `[{"id":"me/a","sha":%q,"tags":["x"]}]`, sha)
			return
		}
		fmt.Fprintf(w, `[{"id":"me/b","sha":%q}]`, otherSHA)
	})
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	first, next, err := remote.Repositories(b, "me", "", o)
	if err != nil || next != "two=" || !slices.Equal(first, []remote.Repository{{Name: "me/a", Commit: sha}}) {
		t.Fatal(first, next, err)
	}
	second, next, err := remote.Repositories(b, "me", next, o)
	if err != nil || next != "" || len(second) != 1 || second[0].Address() != "hf://me/b@"+otherSHA {
		t.Fatal(second, next, err)
	}
}

func TestBadListsOfRepositories(t *testing.T) {
	for name, text := range map[string]string{
		"no list":       `{}`,
		"another owner": `[{"id":"you/a","sha":"` + sha + `"}]`,
		"no commit":     `[{"id":"me/a"}]`,
		"a branch":      `[{"id":"me/a","sha":"main"}]`,
		"a way out":     `[{"id":"me/..","sha":"` + sha + `"}]`,
		"id twice":      `[{"id":"me/a","id":"me/b","sha":"` + sha + `"}]`,
		"ID":            `[{"ID":"me/a","sha":"` + sha + `"}]`,
	} {
		o := listOf(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
		b := limits.Policy{}.Budget(t.Context())
		if page, _, err := remote.Repositories(b, "me", "", o); err == nil {
			t.Errorf("%s: %v", name, page)
		}
		b.Close()
	}
	loop := listOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", `</api/models?cursor=same>; rel="next"`)
		fmt.Fprint(w, `[]`)
	})
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	if _, _, err := remote.Repositories(b, "me", "same", loop); err == nil || !strings.Contains(err.Error(), "does not go on") {
		t.Errorf("a list that loops: %v", err)
	}
	if _, _, err := remote.Repositories(b, "../me", "", loop); err == nil {
		t.Error("an owner that is none")
	}
}

func TestPin(t *testing.T) {
	s := newStore(t, map[string][]byte{"config.json": []byte("{}")})
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	o := remote.Options{Hub: s.URL, AllowPrivate: true}
	for address, want := range map[string]string{
		"hf://me/model": "hf://me/model@" + sha, "hf://me/model@main": "hf://me/model@" + sha, "hf://me/model/config.json": "hf://me/model@" + sha + "/config.json",
		"s3://bucket/key": "s3://bucket/key",
	} {
		if got, err := remote.Pin(b, address, o); got != want || err != nil {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
	if got, err := remote.Pin(b, "hf://me/absent", o); err == nil {
		t.Errorf("pinned to %s", got)
	}
}
