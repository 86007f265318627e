package remote

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A listing is a page of the listing of a bucket:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
type listing struct {
	objects []object
	folders int // how many prefixes stand for more objects
	more    bool
	next    string // the token of the next page
}

type object struct {
	key  string
	size int64
}

// last returns the last key, or "" if the page has none.
func (l *listing) last() string {
	if len(l.objects) == 0 {
		return ""
	}
	return l.objects[len(l.objects)-1].key
}

// maxOpen bounds the nesting of elements; valid pages have fewer levels.
const maxOpen = 8

// An element is an element of an answer that has been read: its text, or the elements in it.
type element struct {
	name string
	text strings.Builder
	seen map[string]bool
}

// readListing reads a page strictly: an element of which clients read one must appear once, and a
// text must not contain elements. Clients differ in which of two elements they read, and in where
// such a text ends.
func readListing(text []byte) (*listing, error) {
	page, d := &listing{}, xml.NewDecoder(bytes.NewReader(text))
	var open []*element
	var current object
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && len(open) == 0 && page.objects != nil:
			return page, nil
		case err != nil:
			return nil, wire.ErrSyntax.Errorf("the listing of the bucket is not the expected XML: %v", err)
		}
		switch token := token.(type) {
		case xml.Comment:
			if len(open) > 1 {
				return nil, wire.ErrSyntax.Errorf("the listing of the bucket has a comment in %s, which some clients confuse with the end of its text", wire.Quote(open[len(open)-1].name))
			}
		case xml.Directive:
			return nil, wire.ErrSyntax.Errorf("the listing of the bucket has a declaration of a document type")
		case xml.StartElement:
			name := token.Name.Local
			if err := begin(page, open, name); err != nil {
				return nil, err
			}
			if len(open) > maxOpen {
				return nil, &limits.Error{Axis: limits.Depth, Want: maxOpen + 1, Left: maxOpen}
			}
			if len(open) == 1 && name == "Contents" {
				current = object{size: -1}
			}
			open = append(open, &element{name: name})
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text.Write(token)
			}
		case xml.EndElement:
			last := open[len(open)-1]
			if open = open[:len(open)-1]; last.name == "Contents" && len(open) == 1 {
				if current.key == "" || current.size < 0 {
					return nil, wire.ErrSyntax.Errorf("the listing of the bucket has an object without a key or a size")
				}
				page.objects = append(page.objects, current) // charged by the size of the answer
			}
			if err := page.take(&current, open, last); err != nil {
				return nil, err
			}
		}
	}
}

// begin checks an element where it begins, below those that are open.
func begin(page *listing, open []*element, name string) error {
	if taken, folded := strictjson.Folded(name, "ListBucketResult", "Contents", "Key", "Size", "IsTruncated", "NextContinuationToken", "EncodingType"); folded {
		return wire.ErrSyntax.Errorf("the listing of the bucket has an element %s, which clients that ignore case confuse with %s", wire.Quote(name), taken)
	}
	if len(open) == 0 {
		if name != "ListBucketResult" || page.objects != nil {
			return wire.ErrSyntax.Errorf("the answer is %s and not the listing of a bucket", wire.Quote(name))
		}
		page.objects = []object{}
		return nil
	}
	parent := open[len(open)-1]
	if leaf(open[:len(open)-1], parent.name) {
		return wire.ErrSyntax.Errorf("the listing of the bucket has %s inside of %s", wire.Quote(name), parent.name)
	}
	if leaf(open, name) {
		if parent.seen[name] {
			return wire.ErrDuplicate.Errorf("%s appears twice in the listing of the bucket", name)
		}
		if parent.seen == nil {
			parent.seen = map[string]bool{}
		}
		parent.seen[name] = true
	}
	return nil
}

// leaf reports whether an element below those that are open is one whose text is read.
func leaf(open []*element, name string) bool {
	switch len(open) {
	case 1:
		return name == "IsTruncated" || name == "NextContinuationToken" || name == "EncodingType"
	case 2:
		return open[1].name == "Contents" && (name == "Key" || name == "Size")
	}
	return false
}

// take keeps the text of an element that has ended.
func (l *listing) take(o *object, open []*element, e *element) error {
	if len(open) == 1 && e.name == "CommonPrefixes" {
		l.folders++
	}
	if !leaf(open, e.name) {
		return nil
	}
	var err error
	switch text := e.text.String(); e.name {
	case "Key":
		o.key = text
	case "Size":
		if o.size, err = strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && o.size < 0 {
			err = strconv.ErrRange
		}
	case "IsTruncated":
		if l.more = text == "true"; !l.more && text != "false" {
			err = errors.New("neither true nor false")
		}
	case "NextContinuationToken":
		l.next = text
	case "EncodingType":
		err = errors.New("an encoding of keys that was not requested")
	}
	if err != nil {
		return wire.ErrSyntax.Errorf("the listing of the bucket: %s: %v", e.name, err)
	}
	return nil
}
