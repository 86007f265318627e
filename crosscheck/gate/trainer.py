"""Writes training_args.bin as Trainer.save_model of transformers does, for the set of
globals "hf-trainer": python3 crosscheck/gate/trainer.py testdata/gate/trainer

Written with transformers 5.23.0, accelerate 1.15.0 and torch 2.15.0. Each file is read
back by torch.load, so that what the set allows is what the loader makes of it.
"""
import pathlib
import sys

import torch
from transformers import GenerationConfig, Seq2SeqTrainingArguments, TrainingArguments

COMMON = {"output_dir": "out", "report_to": "none", "use_cpu": True}
FILES = {
    "plain": (TrainingArguments, {}),
    "options": (TrainingArguments, {
        "eval_strategy": "steps", "save_strategy": "steps", "eval_steps": 10, "save_steps": 10, "load_best_model_at_end": True,
        "lr_scheduler_type": "cosine_with_restarts", "lr_scheduler_kwargs": {"num_cycles": 2}, "optim": "adafactor", "debug": "underflow_overflow",
        "metric_for_best_model": "loss", "hub_strategy": "end", "label_names": ["a", "b"], "accelerator_config": {"split_batches": True},
    }),
    "seq2seq": (Seq2SeqTrainingArguments, {"predict_with_generate": True, "generation_config": GenerationConfig(num_beams=4)}),
}


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, (cls, options) in FILES.items():
        args = cls(**COMMON, **options)
        path = out / f"{name}.bin"
        torch.save(args, path)
        back = torch.load(path, weights_only=False)
        assert type(back) is cls and back.output_dir == args.output_dir


main()
