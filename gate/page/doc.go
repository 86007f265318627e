// Package page shows a report to people: as one HTML file that asks nothing of a
// network, with the verdict and its findings, the tensors, where their bytes are, the
// metadata, the chat template, and what pickles name. A browser that reads files
// itself (the module web) shows the same view of the same [Report].
//
// The file holds its report as data, its script and its style; a policy of the page
// (Content-Security-Policy) allows these two by their hashes, and nothing else. No text
// of a model is ever markup: the script writes text nodes alone.
package page
