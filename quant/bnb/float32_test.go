package bnb_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

func TestParametersThatTransformersKeepsInFloat32StayFloat32(t *testing.T) {
	data, err := os.ReadFile("../../testdata/forget/types/float32.json")
	if err != nil {
		t.Fatal(err)
	}
	var models []struct {
		Type    string `json:"model_type"`
		Tensors map[string]converttest.Typed
	}
	if err := json.Unmarshal(data, &models); err != nil || len(models) != 12 {
		t.Fatalf("%d models, %v", len(models), err)
	}
	for _, one := range models {
		t.Run(one.Type, func(t *testing.T) {
			b := converttest.Account(t)
			file, p, err := converttest.Quantized(t, converttest.TypedModel(t, b, one.Type, one.Tensors), bnb.Layout{}, 2, 0)
			if err != nil {
				t.Fatal(err)
			}
			m, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			want, got := map[string]string{}, converttest.Bodies(t, m)
			changed, said := map[string]string{}, map[string]string{}
			for name, x := range one.Tensors {
				if want[name] = x.Want + string(converttest.BodyOf(t, x, x.Want)); x.Want != x.Plain {
					changed[name] = x.Plain
				}
			}
			for _, w := range p.Quantized.Widened {
				said[w.Name] = w.From.String()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(changed, said); diff != "" {
				t.Error("what it says:", diff)
			}
		})
	}
}
