// Package spool keeps what comes in, in temporary files that nothing outlives.
package spool

import (
	"errors"
	"os"
)

// A File is gone once it is closed. Where the system allows it, it has no name
// from the start: whatever ends the program, nothing is left behind.
type File struct {
	*os.File

	named bool // where an open file cannot lose its name
}

// Create makes an empty file in a folder, "" for the system's own.
func Create(dir string) (*File, error) {
	f, err := os.CreateTemp(dir, "amn-*")
	if err != nil {
		return nil, err
	}
	return &File{File: f, named: os.Remove(f.Name()) != nil}, nil
}

// Close closes the file and removes it.
func (f *File) Close() error {
	err := f.File.Close()
	if f.named {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
