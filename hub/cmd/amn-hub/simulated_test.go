package main

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/hub/internal/simulated"
)

// TestASimulatedHubIsSwept: the repositories of all pages have a verdict, hostile ones are refused,
// and large files are known by their headers.
func TestASimulatedHubIsSwept(t *testing.T) {
	double := &simulated.Server{Population: simulated.Population{Seed: 4, Repos: 240_000, Every: 1000}}
	server := httptest.NewServer(double)
	defer server.Close()
	exit, out, text := hub(t, "run", "--json", "--sweep", "--source", "hf://"+simulated.Owner+"/*", "--hub", server.URL, "--allow-private", "--db", filepath.Join(t.TempDir(), "hub.db"))
	if exit != 0 {
		t.Fatalf("exit %d: %s", exit, text)
	}
	v, err := double.Population.Compare(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if v.Repos != double.Population.Count() || v.Hostile == 0 || v.Accepted < 200 {
		t.Errorf("%+v", v)
	}
	if n := double.Reads.Bytes.Load(); n > v.Bytes/10 {
		t.Errorf("%d of %d bytes were read", n, v.Bytes)
	}
	t.Logf("%+v; %d pages, %d listings, %d reads of %d bytes", v, double.Pages.Requests.Load(), double.Listings.Requests.Load(), double.Reads.Requests.Load(), double.Reads.Bytes.Load())
}
