package gguf_parser

import (
	"context"
	"net/url"
	"os"

	"github.com/anamnesis-go/anamnesis/remote"
)

// ParseGGUFFileRemote reads the structure of a file at an https address by ranges.
func ParseGGUFFileRemote(ctx context.Context, address string, opts ...GGUFReadOption) (*GGUFFile, error) {
	o := optionsOf(opts)
	if u, err := url.Parse(address); err == nil {
		o.remote.Hub = u.Scheme + "://" + u.Host // whom the token is for
	}
	return fetch(ctx, address, o)
}

// ParseGGUFFileFromHuggingFace reads the structure of a file of a repository of the hub,
// or of HF_ENDPOINT where that is set.
func ParseGGUFFileFromHuggingFace(ctx context.Context, repo, file string, opts ...GGUFReadOption) (*GGUFFile, error) {
	o := optionsOf(opts)
	o.remote.Hub = os.Getenv("HF_ENDPOINT")
	return fetch(ctx, "hf://"+repo+"/"+file, o)
}

func fetch(ctx context.Context, address string, o *options) (*GGUFFile, error) {
	b, done := o.account(ctx)
	defer done()
	files, name, err := remote.Files(b, address, o.remote)
	if err != nil {
		return nil, err
	}
	return parse(b, files, name, o)
}
