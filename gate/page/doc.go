// Package page writes a report as one HTML file that needs no network: the verdict with its
// findings and the bytes and instructions that they are about, the model as a drawing, as a tree of
// modules and as a map of their bytes, the tensors, the metadata, the chat template, and the names
// in pickles. The module web, which reads files in a browser, shows the same view of the same
// [Report], and the numbers of a tensor that is chosen.
//
// The file contains the report as data, one script and one style sheet. Its
// Content-Security-Policy allows these two by hash and nothing else. Text from a model
// never becomes markup: the script creates text nodes only.
//
// The script is made of the files in view, in the order of the list in html.go: each knows those
// before it. They share one function, so that nothing of them is global but its result.
package page
