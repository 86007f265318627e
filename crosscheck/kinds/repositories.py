"""What repositories carry beside a model, for honest.py: by what writes it where that installs, else by hand.

Trainer of transformers, tensorboard, wandb, sentencepiece and torch write their own files. The configurations of
axolotl, LLaMA-Factory, Unsloth, ai-toolkit, kohya's scripts, mergekit, ollama and llama.cpp are written by hand with the members
that their documents show, since these do not install without a GPU.
"""
import os
import pathlib
import struct
import tempfile
import zlib

LICENCE = "Apache License\nVersion 2.0, January 2004\nhttp://www.apache.org/licenses/\n\n1. Definitions.\n\n   \"License\" shall mean the terms and conditions for use, reproduction,\n   and distribution (see Section 4(d)).\n"
CARD = """---
license: apache-2.0
base_model: mistralai/Mistral-7B-v0.1
library_name: transformers
pipeline_tag: text-generation
tags:
- generated_from_trainer
- trl
datasets:
- HuggingFaceH4/ultrachat_200k
model-index:
- name: a-model
  results:
  - task:
      type: text-generation
    metrics:
    - type: accuracy
      value: 0.62
---

# A model

<p align="center"><img src="https://example.org/banner.png" width="60%"></p>

[![License](https://img.shields.io/badge/License-Apache_2.0-green.svg)](LICENSE)

| Benchmark | Score |
|-----------|------:|
| MMLU      | 62.1  |

```python
from transformers import AutoModelForCausalLM, AutoTokenizer
model = AutoModelForCausalLM.from_pretrained("owner/a-model", device_map="auto")
inputs = tokenizer(f"Hello {name}", return_tensors="pt")
print(tokenizer.decode(model.generate(**inputs, max_new_tokens=64)[0]))
```

```shell
pip install -U transformers && huggingface-cli download owner/a-model --local-dir .
```

Energy $E = mc^2$ \\\\(a^2\\\\), `loss = 0.5 * (x - y) ** 2`.
"""
GITATTRIBUTES = "".join("*.%s filter=lfs diff=lfs merge=lfs -text\n" % e for e in ("7z arrow bin bz2 ckpt ftz gz h5 joblib lfs.* mlmodel model msgpack npy npz onnx ot parquet pb pickle pkl pt pth rar safetensors").split()) + "saved_model/**/* filter=lfs diff=lfs merge=lfs -text\n*tfevents* filter=lfs diff=lfs merge=lfs -text\n"
AXOLOTL = """base_model: NousResearch/Llama-3.2-1B
model_type: AutoModelForCausalLM
tokenizer_type: AutoTokenizer
load_in_8bit: false
load_in_4bit: true
strict: false

datasets:
  - path: teknium/GPT4-LLM-Cleaned
    type: alpaca
dataset_prepared_path: last_run_prepared
val_set_size: 0.1
output_dir: ./outputs/qlora-out

adapter: qlora
lora_r: 32
lora_alpha: 16
lora_dropout: 0.05
lora_target_modules:
  - gate_proj
  - down_proj
  - up_proj

wandb_project:
wandb_entity:
gradient_accumulation_steps: 4
micro_batch_size: 2
num_epochs: 1
optimizer: adamw_bnb_8bit
lr_scheduler: cosine
learning_rate: 0.0002
bf16: auto
flash_attention: true
warmup_steps: 10
evals_per_epoch: 4
special_tokens:
  pad_token: "<|end_of_text|>"
"""
FACTORY = """### model
model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
trust_remote_code: false

### method
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: all

### dataset
dataset: identity,alpaca_en_demo
template: llama3
cutoff_len: 2048
overwrite_cache: true
preprocessing_num_workers: 16

### output
output_dir: saves/llama3-8b/lora/sft
logging_steps: 10
plot_loss: true

### train
per_device_train_batch_size: 1
learning_rate: 1.0e-4
lr_scheduler_type: cosine
bf16: true
ddp_timeout: 180000000
"""
TOOLKIT = """---
job: extension
config:
  name: my_first_flux_lora_v1
  process:
    - type: sd_trainer
      training_folder: output
      device: cuda:0
      trigger_word: "p3r5on"
      network:
        type: lora
        linear: 16
        linear_alpha: 16
      save:
        dtype: float16
        save_every: 250
      datasets:
        - folder_path: /home/me/images
          caption_ext: txt
          resolution: [512, 768, 1024]
      train:
        batch_size: 1
        steps: 2000
        noise_scheduler: flowmatch
        optimizer: adamw8bit
        lr: 1e-4
      model:
        name_or_path: black-forest-labs/FLUX.1-dev
        is_flux: true
        quantize: true
      sample:
        prompts:
          - woman with red hair, playing chess at the park, bomb going off in the background
          - "photo of [trigger], a hipster man with a beard, holding a cup"
meta:
  name: "[name]"
  version: '1.0'
"""
KOHYA = """[model_arguments]
v2 = false
v_parameterization = false
pretrained_model_name_or_path = "runwayml/stable-diffusion-v1-5"

[additional_network_arguments]
network_dim = 32
network_alpha = 16
network_module = "networks.lora"

[optimizer_arguments]
optimizer_type = "AdamW8bit"
learning_rate = 0.0001
lr_scheduler = "constant"

[dataset_arguments]
debug_dataset = false
"""
MERGEKIT = """slices:
  - sources:
      - model: psmathur/orca_mini_v3_13b
        layer_range: [0, 40]
      - model: garage-bAInd/Platypus2-13B
        layer_range: [0, 40]
merge_method: slerp
base_model: psmathur/orca_mini_v3_13b
parameters:
  t:
    - filter: self_attn
      value: [0, 0.5, 0.3, 0.7, 1]
    - value: 0.5
dtype: float16
"""
MODELFILE = 'FROM ./model.gguf\nTEMPLATE """{{ if .System }}<|system|>\n{{ .System }}<|end|>\n{{ end }}{{ .Prompt }}"""\nPARAMETER stop <|end|>\nPARAMETER temperature 0.7\nSYSTEM You are a helpful assistant.\n'
DEEPSPEED = '{"fp16": {"enabled": "auto", "loss_scale": 0}, "optimizer": {"type": "AdamW", "params": {"lr": "auto"}}, "zero_optimization": {"stage": 2, "overlap_comm": true}, "gradient_accumulation_steps": "auto", "train_batch_size": "auto"}\n'
BY_HAND = {
    "gitattributes": (".gitattributes", GITATTRIBUTES), "gitignore": (".gitignore", "checkpoint-*/\n__pycache__/\n*.pyc\n.DS_Store\n!keep.txt\n"), "licence": ("LICENSE", LICENCE), "licence-text": ("LICENSE.txt", LICENCE),
    "use-policy": ("USE_POLICY.md", "# Use policy\n\nReport to [us](mailto:a@example.org). Do not:\n1. Violate the law (or others' rights).\n"), "notice": ("NOTICE", "Copyright (c) 2025 A. Company. All rights reserved.\nSee https://example.org/licence for terms.\n"), "card": ("README.md", CARD),
    "requirements": ("requirements.txt", "torch>=2.1\ntransformers==4.44.0\naccelerate\n"), "axolotl": ("axolotl_config.yaml", AXOLOTL), "axolotl-yml": ("config.yml", AXOLOTL), "llama-factory": ("llama3_lora_sft.yaml", FACTORY), "ai-toolkit": ("config.yaml", TOOLKIT),
    "kohya": ("config_lora.toml", KOHYA), "mergekit": ("mergekit_config.yml", MERGEKIT), "modelfile": ("Modelfile", MODELFILE), "params": ("params", '{"stop":["<|end|>"],"temperature":0.7}'), "params-json": ("params.json", '{"dim": 4096, "n_layers": 32, "n_heads": 32, "multiple_of": 256, "norm_eps": 1e-05, "vocab_size": -1}'),
    "deepspeed": ("ds_config.json", DEEPSPEED), "calibration": ("calibration_data.txt", "Once upon a time (1987), a model met data: \"why?\" it asked.\nE.g. the U.S. census; see Sec. 3.2.\n" * 20), "vocab": ("vocab.txt", "[PAD]\n[UNK]\n##ing\nthe\n"), "merges": ("merges.txt", "#version: 0.2\n\u0120 t\nh e\n"),
    "added-tokens": ("added_tokens.json", '{"<|im_end|>": 151645, "<tool_call>": 151657}'), "special-tokens": ("special_tokens_map.json", '{"additional_special_tokens": ["<|im_start|>"], "eos_token": {"content": "<|im_end|>", "lstrip": false, "normalized": false, "rstrip": false, "single_word": false}}'),
    "chat-template": ("chat_template.jinja", "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + eos_token }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"),
    "chat-template-json": ("chat_template.json", '{"chat_template": "{% for message in messages %}{{ message[\'content\'] }}{% endfor %}"}'),
    "generation": ("generation_config.json", '{"_from_model_config": true, "bos_token_id": 1, "eos_token_id": [2, 3], "temperature": 0.6, "top_p": 0.9, "transformers_version": "4.44.0"}'),
    "eval-yaml": ("results.yaml", "mmlu: 0.62\nhellaswag:\n  acc: 0.8\n"), "eval-harness": ("results_2025-01-02T03-04-05.json", '{"results": {"arc_challenge": {"acc,none": 0.5, "acc_stderr,none": 0.01, "alias": "arc_challenge"}}, "config": {"model": "hf", "model_args": "pretrained=owner/a-model,dtype=bfloat16", "batch_size": "auto"}, "git_hash": "abc1234"}'),
    "citation": ("CITATION.cff", "cff-version: 1.2.0\nmessage: \"If you use it, cite it.\"\nauthors:\n- family-names: A\n  given-names: B\ntitle: A model\n"), "bibliography": ("paper.bib", "@article{a2025,\n  title={A model},\n  url={https://arxiv.org/abs/2501.00001}\n}\n"),
    "training-log": ("train.log", "2025-01-02 03:04:05,678 INFO step 10: loss=2.31 lr=1.0e-4 (3.2 it/s)\n" * 10), "labels": ("labels.txt", "cat\ndog\nhot dog\n"), "metrics-csv": ("metrics.csv", "step,loss,eval_loss\n1,2.5,2.6\n2,2.1,2.3\n"), "samples": ("samples.jsonl", '{"prompt": "What is 2+2?", "completion": "4"}\n' * 5),
    "metadata-jsonl": ("metadata.jsonl", '{"file_name": "images/1.png", "text": "a cat"}\n'), "quantize-config": ("quantize_config.json", '{"bits": 4, "group_size": 128, "damp_percent": 0.01, "desc_act": true, "sym": true, "true_sequential": true, "model_name_or_path": null, "model_file_base_name": "model"}'),
    "hf-quant": ("hf_quant_config.json", '{"producer": {"name": "modelopt", "version": "0.23.0"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}'), "recipe": ("recipe.yaml", "default_stage:\n  default_modifiers:\n    GPTQModifier:\n      targets: [Linear]\n      ignore: [lm_head]\n      scheme: W4A16\n"),
    "job-new": ("job_new.json", '{"in_dir": "owner/a-model", "out_dir": "/tmp/out", "bits": 4.0, "measurement_len": 2048}'), "dataset-info": ("dataset_info.json", '{"features": {"text": {"dtype": "string", "_type": "Value"}}, "splits": {"train": {"name": "train", "num_bytes": 100, "num_examples": 2}}}'),
    "tokenizer-checklist": ("tokenizer_checklist.chk", "eeec4125e9c7560836b4873b6f8e3025  tokenizer.model\n"), "checksums": ("SHA256SUMS", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  model.safetensors\n"), "prompt": ("system_prompt.txt", "You are a helpful assistant. Today's date is {today}; answer briefly (in <b>one</b> line).\n"),
    "unsloth": ("unsloth_config.yaml", "model_name: unsloth/llama-3-8b-bnb-4bit\nmax_seq_length: 2048\nload_in_4bit: true\nlora:\n  r: 16\n  target_modules: [q_proj, k_proj]\ntraining:\n  output_dir: outputs\n  report_to: none\n"), "lora-civitai": ("lora.json", '{"description": "a style", "sd version": "SDXL", "activation text": "p3r5on, red hair", "preferred weight": 0.8, "notes": "trained on 20 images"}'),
}


def picture():
    part = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) + part(b"IDAT", zlib.compress(b"\0\0")) + part(b"IEND", b"")


def trained(folder, tiny):
    """A run of transformers' Trainer: its state, arguments, results, card and events."""
    import torch
    import transformers as T
    with tempfile.TemporaryDirectory() as base:
        tiny(base, "gpt2")
        model, tokenizer = T.GPT2LMHeadModel.from_pretrained(base), T.AutoTokenizer.from_pretrained(base)
        rows = [{"input_ids": torch.tensor([0, 4, 5]), "labels": torch.tensor([0, 4, 5])} for _ in range(4)]
        os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / "runs")
        args = T.TrainingArguments(output_dir=str(folder), max_steps=2, save_steps=2, logging_steps=1, report_to=["tensorboard"] if installed("tensorboard") else [], per_device_train_batch_size=1, use_cpu=True)
        trainer = T.Trainer(model=model, args=args, train_dataset=rows, eval_dataset=rows, processing_class=tokenizer)
        result = trainer.train()
        for split, metrics in (("train", result.metrics), ("eval", trainer.evaluate())):
            trainer.save_metrics(split, metrics)
        trainer.save_state()
        trainer.save_model()
        trainer.create_model_card(model_name="a-model", dataset="a-dataset", finetuned_from="owner/base-model")


def installed(name):
    import importlib.util
    return importlib.util.find_spec(name) is not None


def logged(folder):
    import wandb
    os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true")
    run = wandb.init(project="a-project", dir=str(folder), config={"lr": 1e-4, "model": "owner/a-model"})
    run.log({"loss": 2.5})
    run.finish()
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            path.unlink()  # a repository carries no link of a machine


def write(root, weights, tiny):
    config = '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8}'
    for name, (file, text) in BY_HAND.items():
        folder = weights(root / name)
        (folder / "config.json").write_text(config)
        (folder / file).write_text(text)
    folder = weights(root / "pictures")
    (folder / "config.json").write_text(config)
    (folder / "assets").mkdir()
    (folder / "assets" / "banner.png").write_bytes(picture())
    for name, made in (("trainer", lambda f: trained(f, tiny)), ("wandb", logged)):
        folder = weights(root / name)
        (folder / "config.json").write_text(config)
        try:
            made(folder)
        except Exception as e:
            print("   ", name, repr(e)[:200])
    if installed("sentencepiece"):
        import sentencepiece
        folder = weights(root / "sentencepiece")
        (folder / "config.json").write_text(config)
        text = pathlib.Path(tempfile.mkdtemp()) / "text.txt"
        text.write_text("\n".join("the cat sat on mat number %d of the house" % i for i in range(200)))
        sentencepiece.SentencePieceTrainer.train(input=str(text), model_prefix=str(folder / "spm"), vocab_size=60, hard_vocab_limit=False, minloglevel=3)
