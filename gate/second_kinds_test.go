package gate_test

import (
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/gate"
)

// Texts that the libraries of the second list of kinds write beside a model are accepted, by upload
// too: the members are those of their own configurations, in their own order.
func TestFoldersOfTheSecondListAreAccepted(t *testing.T) {
	for kind, files := range map[string]map[string]string{
		"NeMo": {"model_config.yaml": `sample_rate: 16000
train_ds:
  manifest_filepath: /manifests/librispeech/train.json
  sample_rate: ${model.sample_rate}
  tarred_audio_filepaths: null
tokenizer:
  dir: /tokenizers/bpe_1024
  type: bpe
  model_path: nemo:0a1b2c3d_tokenizer.model
preprocessor:
  _target_: nemo.collections.asr.modules.AudioToMelSpectrogramPreprocessor
  normalize: per_feature
  features: &n_mels 80
encoder:
  _target_: nemo.collections.asr.modules.ConformerEncoder
  feat_in: *n_mels
  att_context_size: [-1, -1]
  dropout: ${model.model_defaults.dropout}
optim:
  name: adamw
  lr: 5.0e-3
  betas: [0.9, 0.98]
target: nemo.collections.asr.models.rnnt_bpe_models.EncDecRNNTBPEModel
nemo_version: 2.1.0
`},
		"pyannote": {"config.yaml": `version: 3.1.0
pipeline:
  name: pyannote.audio.pipelines.SpeakerDiarization
  params:
    clustering: AgglomerativeClustering
    embedding: $model/embedding
    embedding_exclude_overlap: true
params:
  clustering:
    method: centroid
    threshold: 0.7045654963945799
`},
		"FunASR": {"am.mvn": "<Nnet>\n<Splice> 560 560\n", "config.yaml": `model: Paraformer
model_conf:
  ctc_weight: 0.0
  length_normalized_loss: true
encoder: SANMEncoder
encoder_conf:
  output_size: 512
  conv_feature_layers: "[(512, 10, 5)] + [(512, 3, 2)] * 4"
frontend: WavFrontend
frontend_conf:
  fs: 16000
  cmvn_file: am.mvn
tokenizer: CharTokenizer
tokenizer_conf:
  split_with_space: true
  seg_dict: seg_dict
`, "configuration.json": `{"framework": "pytorch", "task": "auto-speech-recognition", "model": {"type": "funasr"}, "file_path_metas": {"init_param": "model.pt", "config": "config.yaml", "tokenizer_conf": {"token_list": "tokens.json"}}, "model_name_in_hub": {"ms": "", "hf": ""}}`},
		"SetFit":     {"config_setfit.json": `{"normalize_embeddings": false, "labels": ["negative", "positive"], "span_context": 0, "spacy_model": "en_core_web_lg"}`},
		"GLiNER":     {"gliner_config.json": `{"model_name": "microsoft/deberta-v3-small", "encoder_config": {"model_type": "deberta-v2", "hidden_size": 768, "hidden_act": "gelu"}, "name": "span level gliner", "max_width": 12, "span_mode": "markerV0", "train_data": "data.json", "log_dir": "logs", "prev_path": "none", "ent_token": "<<ENT>>"}`},
		"BentoML":    {"model.yaml": "name: summarizer\nversion: 2uufkuq5bc4yylg6\nmodule: bentoml.transformers\nlabels: {}\noptions:\n  task: summarization\ncontext:\n  framework_name: transformers\n  bentoml_version: 1.4.40\n  python_version: 3.11.7\nsignatures:\n  __call__:\n    batchable: false\napi_version: v2\ncreation_time: '2026-11-29T10:00:00+00:00'\n"},
		"TorchServe": {"MAR-INF/MANIFEST.json": `{"createdOn": "29/11/2026 10:00:00", "runtime": "python", "model": {"modelName": "m", "serializedFile": "model.safetensors", "handler": "image_classifier", "modelVersion": "1.0", "configFile": "model-config.yaml"}, "archiverVersion": "0.12.0"}`, "model-config.yaml": "minWorkers: 1\nmaxWorkers: 2\nbatchSize: 4\nresponseTimeout: 120\nparallelType: pp\ndeviceType: gpu\ntorchrun:\n  nproc-per-node: 4\nhandler:\n  profile: true\n"},
		"Ultralytics": {"metadata.yaml": `description: Ultralytics YOLO11n model trained on coco.yaml
author: Ultralytics
date: '2026-11-29T10:00:00.000000'
version: 8.4.190
license: AGPL-3.0 License (https://ultralytics.com/license)
docs: https://docs.ultralytics.com
stride: 32
task: detect
batch: 1
imgsz:
- 640
- 640
names:
  0: person
  1: bicycle
args:
  batch: 1
  half: false
channels: 3
`},
		"Lightning": {"hparams.yaml": "batch_size: 32\nlearning_rate: 0.001\noptimizer: adamw\nhidden:\n- 128\n- 64\n"},
		"OpenVINO":  {"openvino_config.json": `{"dtype": "int4", "input_info": null, "optimum_version": "2.3.0", "quantization_config": {"bits": 4, "sym": false, "group_size": 128, "ratio": 1.0, "quant_method": "default", "weight_format": "int4", "statistics_path": null}, "save_onnx_model": false}`},
		"DeepSpeed": {"latest": "global_step100\n", "ds_config.json": `{"train_batch_size": 8, "optimizer": {"type": "AdamW", "params": {"lr": 3e-5}}, "fp16": {"enabled": "auto"}, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}`},
		"Triton":    {"config.pbtxt": "name: \"m\"\nplatform: \"onnxruntime_onnx\"\nmax_batch_size: 8\ninput [ { name: \"x\" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] } ]\noutput [ { name: \"y\" data_type: TYPE_FP32 dims: [ 1000 ] label_filename: \"labels.txt\" } ]\n"},
		"spaCy": {
			"config.cfg":         "[paths]\ntrain = null\nvectors = null\n\n[system]\nseed = 0\n\n[nlp]\nlang = \"en\"\npipeline = []\n\n[nlp.tokenizer]\n@tokenizers = \"spacy.Tokenizer.v1\"\n\n[corpora]\n\n[corpora.dev]\n@readers = \"spacy.Corpus.v1\"\npath = ${paths.train}\n\n[training]\nseed = ${system.seed}\ndev_corpus = \"corpora.dev\"\n",
			"meta.json":          `{"lang": "en", "name": "pipeline", "version": "0.0.0", "spacy_version": ">=3.8.18,<3.9.0", "description": "", "author": "", "email": "", "url": "", "license": "", "spacy_git_version": "a1b2c3d4e", "vectors": {"width": 0, "vectors": 0, "keys": 0, "name": null, "mode": "default"}, "labels": {}, "pipeline": [], "components": [], "disabled": []}`,
			"tokenizer":          "\x83\xadprefix_search\xa6^\xc2\xa7|^%\xabtoken_match\xc0\xaaexceptions\x81\xa2'S\x91\x81\x41\xa2'S",
			"vocab/key2row":      "\x80",
			"vocab/lookups.bin":  "\x80",
			"vocab/strings.json": `["(-;", "X.Xxx", "os.system", "$(x)"]`,
		},
	} {
		for _, profile := range []string{"server", "upload"} {
			policy, _ := gate.Profile(profile)
			all := fstest.MapFS{"model.safetensors": {Data: tiny()}}
			for name, text := range files {
				all[name] = &fstest.MapFile{Data: []byte(text)}
			}
			v := inFolder(t, policy, all)
			if !v.Accepted() {
				t.Errorf("%s by %s: %v %v", kind, profile, v.Err, v.Findings)
			}
			v.Close()
		}
	}
}
