package sidecar

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A line that is left out has no part that could name something, and the key that it would have
// given.
func TestLinesThatNameNothingHaveNoPartThatDoes(t *testing.T) {
	pieces := strings.Split("key,a,b1,_,__,.,..,/,:,: ,=, ,\t,-,- ,[,],{,},$,(,),~,;,&,|,`,#, #,',\",0.5,12,hf-hub,local-dir,import os,from a,lambda x,gAWV,eJxLtDI,H4sI,UEsDB,word,x.y,é,<,>,!,@,\\\\", ",")
	rand := rand.New(rand.NewPCG(1, 2))
	left := 0
	for range 200_000 {
		var line string
		for range 1 + rand.IntN(6) {
			line += pieces[rand.IntN(len(pieces))]
		}
		if !namesNothing(line) {
			continue
		}
		left++
		key, _ := pair(line)
		mark := strings.IndexAny(line, ":=")
		for from := range len(line) {
			for to := from + 1; to <= len(line); to++ {
				if key != "" && from <= mark && mark < to {
					continue // no value begins before the mark behind a key
				}
				if what := couldName(&kept{text: line[from:to]}); what != "" {
					t.Fatalf("%q is left out, and %q could be %s", line, line[from:to], what)
				}
			}
		}
		if has := hasKey(line, mark); has != (key != "") {
			t.Fatalf("%q: key %q, %v", line, key, has)
		}
	}
	if left < 1000 {
		t.Errorf("%d lines were left out", left)
	}
}
