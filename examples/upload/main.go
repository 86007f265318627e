// Upload is a host of models for several tenants: what a tenant sends is judged
// before it is stored.
//
//	go run ./examples/upload -dir /srv/models &
//	curl -T model.safetensors -H 'X-Tenant: a' http://localhost:8080/models/model.safetensors
package main

import (
	"errors"
	"flag"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/limits"
)

func main() {
	dir, addr := flag.String("dir", ".", "folder of the models"), flag.String("addr", "localhost:8080", "address")
	flag.Parse()
	h, err := upload(*dir)
	if err != nil {
		log.Fatal(err)
	}
	s := http.Server{Addr: *addr, Handler: h, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	log.Fatal(s.ListenAndServe())
}

// upload answers PUT /models/{name} and GET /metrics.
func upload(dir string) (http.Handler, error) {
	strict, _ := limits.Profile("strict")
	var metrics handler.Metrics
	h, err := handler.New(store(dir), handler.Options{
		Options:  host.Options{Gate: gate.Gate{Policy: gate.Policy{Limits: strict}}, MaxFile: 1 << 30, Memory: 256 << 20, PerTenant: 32},
		TenantOf: func(r *http.Request) string { return r.Header.Get("X-Tenant") },
		Observe:  metrics.Observe, Log: slog.Default(),
	})
	if err != nil {
		return nil, err
	}
	metrics.Load = h.Host().Load
	mux := http.NewServeMux()
	mux.Handle("PUT /models/{name}", h)
	mux.Handle("GET /metrics", &metrics)
	return handler.Exact(mux), nil // a mux redirects //models/x, and a redirect is a status below 400
}

// store keeps a file that was accepted; a partial file is never visible.
func store(dir string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, err := os.CreateTemp(dir, ".upload-*")
		if err == nil {
			_, err = io.Copy(f, r.Body)
			err = errors.Join(err, f.Close(), os.Rename(f.Name(), filepath.Join(dir, filepath.Base(r.PathValue("name")))))
		}
		if err != nil {
			http.Error(w, "not stored", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}
}
