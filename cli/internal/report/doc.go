// Package report opens the models that arguments name, one after the other, and holds what is
// known of each: totals, types, quantized weights, memory, findings, or the error; and prints it
// as text or JSON.
package report
