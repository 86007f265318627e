package remote_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/remote"
)

// trickle answers with a byte now and then, for as long as somebody listens.
func trickle(t *testing.T, header func(h http.Header)) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header(w.Header())
		w.WriteHeader(http.StatusPartialContent)
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(" ")); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// For every command, reading an address is one operation with one deadline: from --timeout, a
// policy or a profile. It covers the listing and the bodies.
func TestEveryCommandEndsAtItsDeadline(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.json")
	write(t, policy, []byte(`{"timeout": "300ms"}`))
	file := trickle(t, func(h http.Header) {
		h.Set("Content-Range", "bytes 0-131071/1000000")
		h.Set("Content-Length", "131072")
	})
	var pages atomic.Int64
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := pages.Add(1)
		fmt.Fprintf(w, "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken>", n)
		fmt.Fprintf(w, "<CommonPrefixes><Prefix>all/%d/</Prefix></CommonPrefixes></ListBucketResult>", n)
	}))
	t.Cleanup(empty.Close)
	listing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(" ")); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}))
	t.Cleanup(listing.Close)
	target := filepath.Join(t.TempDir(), "out.safetensors")
	for _, command := range [][]string{{"scan"}, {"scan", "--digest"}, {"inspect"}, {"parse"}, {"verify"}, {"stats"}, {"convert", "--to", "npz", "-o", target}, {"dequantize", "-o", target}} {
		for source, c := range map[string]struct {
			address string
			o       remote.Options
		}{
			"a file":             {file.URL + "/tiny.gguf", remote.Options{}},
			"a listing":          {"hf://me/model", remote.Options{Hub: listing.URL}},
			"pages without end":  {"s3://models/all/a.bin", remote.Options{S3: remote.S3{Endpoint: empty.URL}}},
			"a listing of files": {"s3://models/all/", remote.Options{S3: remote.S3{Endpoint: listing.URL}}},
			"a registry":         {"oci://" + strings.TrimPrefix(listing.URL, "http://") + "/team/model", remote.Options{}},
		} {
			flags := []string{"--timeout", "300ms"}
			if source == "a file" {
				flags = []string{"--limits", policy}
			}
			t.Run(command[0]+" of "+source, func(t *testing.T) {
				t.Parallel()
				code, out, errs := run(t, c.o, slices.Concat(command, flags, []string{c.address})...)
				if code != 6 {
					t.Errorf("exit %d, want 6: %s%s", code, out, errs)
				}
			})
		}
	}
	t.Cleanup(func() {
		if _, err := os.Stat(target); err == nil {
			t.Error("a conversion that ran out of time left its output")
		}
	})
}

// A conversion has no deadline, so a server that hardly sends anything has to be given up.
func TestAServerBelowTheMinimumRateIsAnError(t *testing.T) {
	remote.Patience(t, 300*time.Millisecond)
	s := trickle(t, func(h http.Header) {
		h.Set("Content-Range", "bytes 0-131071/1000000")
		h.Set("Content-Length", "131072")
	})
	code, _, errs := run(t, remote.Options{}, "convert", "--to", "npz", "-o", filepath.Join(t.TempDir(), "out.safetensors"), s.URL+"/tiny.gguf")
	if code != 1 || !strings.Contains(errs, "less than 1 KiB a second") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A listing whose pages bring nothing new ends, without waiting for a deadline.
func TestPagesThatBringNothingEnd(t *testing.T) {
	for name, page := range map[string]string{
		"empty":        "<NextContinuationToken>%d</NextContinuationToken>",
		"one token":    "<NextContinuationToken>a</NextContinuationToken><Contents><Key>all/%d</Key><Size>1</Size></Contents>",
		"one object":   "<NextContinuationToken>%d</NextContinuationToken><Contents><Key>all/a</Key><Size>1</Size></Contents>",
		"always a dir": "<NextContinuationToken>%d</NextContinuationToken><Contents><Key>all/</Key><Size>0</Size></Contents>",
	} {
		n := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n++
			fmt.Fprint(w, "<ListBucketResult><IsTruncated>true</IsTruncated>"+strings.Replace(page, "%d", fmt.Sprint(n), 1)+"</ListBucketResult>")
		}))
		code, _, errs := run(t, remote.Options{S3: remote.S3{Endpoint: s.URL}}, "scan", "--timeout", "none", "s3://models/all/")
		if code != 3 || n > 3 {
			t.Errorf("%s: exit %d after %d pages: %s", name, code, n, errs)
		}
		s.Close()
	}
}
