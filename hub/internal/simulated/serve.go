package simulated

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Server answers as the hub does: pages of repositories, the files of one, ranges of a file.
type Server struct {
	Population Population
	// Latency is waited before each answer, as the way to a hub and back takes.
	Latency time.Duration

	Pages, Listings, Reads Traffic

	lock sync.Mutex
	made map[int][]File // of the repositories that are read now
}

// files makes those of a repository once while it is read.
func (s *Server) files(r Repo) []File {
	s.lock.Lock()
	defer s.lock.Unlock()
	if list, ok := s.made[r.Number]; ok {
		return list
	}
	if len(s.made) >= 256 || s.made == nil {
		s.made = map[int][]File{}
	}
	list := r.Files()
	s.made[r.Number] = list
	return list
}

// Traffic is what was asked and sent.
type Traffic struct{ Requests, Bytes atomic.Int64 }

type counted struct {
	http.ResponseWriter
	to *Traffic
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.to.Bytes.Add(int64(n))
	return n, err
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(s.Latency)
	path := strings.TrimPrefix(r.URL.Path, "/")
	if path == "api/models" {
		s.Pages.Requests.Add(1)
		s.page(counted{w, &s.Pages}, r)
		return
	}
	if rest, ok := strings.CutPrefix(path, "api/models/"); ok {
		s.Listings.Requests.Add(1)
		name, _, _ := strings.Cut(rest, "/revision/")
		repo, ok := s.repo(name)
		if !ok {
			http.NotFound(w, r)
			return
		}
		s.answer(counted{w, &s.Listings}, listing(repo, s.files(repo)))
		return
	}
	s.Reads.Requests.Add(1)
	name, rest, _ := strings.Cut(path, "/resolve/")
	repo, ok := s.repo(name)
	commit, file, _ := strings.Cut(rest, "/")
	if ok && commit == repo.Commit() {
		for _, f := range s.files(repo) {
			if f.Name == file {
				w.Header().Set("Content-Type", "application/octet-stream")
				http.ServeContent(counted{w, &s.Reads}, r, "", time.Time{}, io.NewSectionReader(&f, 0, f.Size()))
				return
			}
		}
	}
	http.NotFound(w, r)
}

func (s *Server) repo(name string) (Repo, bool) {
	number, ok := strings.CutPrefix(name, Owner+"/r")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n >= s.Population.Repos || n%s.Population.Every != 0 {
		return Repo{}, false
	}
	return s.Population.Repo(n), true
}

type entry struct {
	Name   string `json:"rfilename"`
	Size   *int64 `json:"size,omitempty"`
	BlobID string `json:"blobId,omitempty"`
	LFS    *lfs   `json:"lfs,omitempty"`
}

type lfs struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

type listed struct {
	ID       string  `json:"id"`
	SHA      string  `json:"sha"`
	Siblings []entry `json:"siblings"`
}

func listing(r Repo, files []File) listed {
	out := listed{ID: r.Name(), SHA: r.Commit()}
	for _, f := range files {
		size := f.Size()
		e := entry{Name: f.Name, Size: &size, BlobID: strings.Repeat("0", 40)}
		if f.large {
			e.LFS = &lfs{f.Digest(), size}
		} else {
			e.BlobID = f.Digest()
		}
		out.Siblings = append(out.Siblings, e)
	}
	return out
}

// page is a part of the list of all repositories; the cursor is the next one's place.
func (s *Server) page(w counted, r *http.Request) {
	q := r.URL.Query()
	from, _ := strconv.Atoi(q.Get("cursor"))
	n, err := strconv.Atoi(q.Get("limit"))
	if err != nil || n < 1 || n > 1000 || from < 0 || q.Get("author") != Owner {
		http.Error(w, "not a request of this list", http.StatusBadRequest)
		return
	}
	list := []listed{}
	end := min(from+n, s.Population.Count())
	for i := from; i < end; i++ {
		repo := s.Population.Repo(i * s.Population.Every)
		item := listed{ID: repo.Name(), SHA: repo.Commit()}
		for _, f := range repo.Files() {
			item.Siblings = append(item.Siblings, entry{Name: f.Name})
		}
		list = append(list, item)
	}
	if end < s.Population.Count() {
		w.Header().Set("Link", fmt.Sprintf("<http://%s/api/models?cursor=%d>; rel=\"next\"", r.Host, end))
	}
	s.answer(w, list)
}

func (s *Server) answer(w counted, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v) // a client that has gone asks again
}
