// Package page writes a report as one HTML file that needs no network: the verdict with
// its findings, the tensors, a map of their bytes, the metadata, the chat template, and
// the names in pickles. The module web, which reads files in a browser, shows the same
// view of the same [Report].
//
// The file contains the report as data, one script and one style sheet. Its
// Content-Security-Policy allows these two by hash and nothing else. Text from a model
// never becomes markup: the script creates text nodes only.
package page
