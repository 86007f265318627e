"""Inputs with which a model of transformers runs: text, images, films, sounds and series of the sizes that its configuration
states, in the combinations that its forward takes.

    fed = feed.Feed(model)      fed.how is the first combination that runs, and in which type; None for none. fed.what has its names, or why
    fed(model)                  all numbers that a model of the same configuration answers, the same for the same parameters
"""
import inspect

import torch

MOST = 60  # combinations that are tried


def state(config, *names):
    """The first of some members that a configuration has, or one inside it."""
    inside = [config] + [c for k in getattr(config, "sub_configs", {}) if (c := getattr(config, k, None)) is not None]
    inside += [c for one in inside[1:] for k in getattr(one, "sub_configs", {}) if (c := getattr(one, k, None)) is not None]
    for name in names:
        for c in inside:
            if (v := getattr(c, name, None)) is not None:
                return v
    return None


def number(v, other):
    while isinstance(v, (list, tuple)) and v:
        v = v[0]
    if isinstance(v, dict):
        v = v.get("height") or next(iter(v.values()))
    return v if isinstance(v, int) and v > 0 else other


def combinations(model):
    """Inputs that the model may take, likeliest first."""
    g = torch.Generator().manual_seed(3)
    c, takes = model.config, set(inspect.signature(model.forward).parameters)
    rand = lambda *shape: torch.rand(*shape, generator=g)
    words = lambda n=8: torch.randint(3, max(4, min(100, number(state(c, "vocab_size"), 100))), (1, n), generator=g)
    image, channels = number(state(c, "image_size", "input_size", "img_size"), 64), number(state(c, "num_channels", "in_channels", "in_chans", "num_image_channels"), 3)
    frames, mels = number(state(c, "num_frames", "frames_per_clip"), 4), number(state(c, "num_mel_bins", "n_mels", "input_feat_per_channel", "feature_size", "mel_bins", "input_dim"), 80)
    positions = number(state(c, "max_source_positions", "max_length"), 64)
    texts = [{}, {"input_ids": words()}] if "input_ids" in takes else [{}]
    answers = [{}, {"decoder_input_ids": words()}] if "decoder_input_ids" in takes else [{}]
    if getattr(c, "is_encoder_decoder", False):
        answers = answers[::-1]
    pictures = []
    if "pixel_values" in takes:
        sizes = dict.fromkeys([image, 224, 64, 128, 256, 32])
        pictures += [{"pixel_values": rand(1, channels, s, s)} for s in sizes if s <= 1024]
        pictures += [{"pixel_values": rand(1, frames, channels, s, s)} for s in list(sizes)[:2] if s <= 512]
        patch = number(state(c, "patch_size"), 14)
        pictures += [{"pixel_values": rand(16, channels * patch * patch)}, {"pixel_values": rand(1, 16, channels * patch * patch)}]
    if "pixel_values_videos" in takes:
        pictures += [{"pixel_values_videos": rand(1, n, channels, image, image)} for n in (frames, 16)]
    if "hidden_states" in takes and "pixel_values" not in takes and "input_ids" not in takes:
        width = number(state(c, "hidden_size", "embed_dim", "d_model"), 64)
        patch, step = number(state(c, "patch_size"), 14), number(state(c, "temporal_patch_size"), 1)
        pictures += [{"hidden_states": rand(16, channels * step * patch * patch), "grid_thw": torch.tensor([[1, 4, 4]])}, {"hidden_states": rand(1, 8, width)}, {"hidden_states": rand(1, width, 8)}]
    sounds = []
    for name in ("input_values", "input_features", "audio_values", "speech_inputs", "spectrogram", "input_audio_features"):
        if name in takes:
            sounds += [{name: rand(1, 4000)}, {name: rand(1, 1, 4000)}, {name: rand(1, mels, 2 * positions)}, {name: rand(1, mels, 3000)}, {name: rand(1, positions, mels)}, {name: rand(1, 64, mels)}, {name: rand(1, mels, 64)}, {name: rand(1, 16000)}, {name: rand(1, 1, 1001, 64)}]
    if "feature_lens" in takes:
        sounds += [{"input_features": rand(mels, 64), "feature_lens": torch.tensor([64])}]
    more = [{}]
    length, lags = number(state(c, "context_length", "seq_length"), 16), max([0, *(state(c, "lags_sequence") or [0])])
    if "past_values" in takes:
        features, whole, wide = number(state(c, "num_time_features"), 0), length + lags, number(state(c, "num_input_channels", "input_size"), 1)
        dates = {"past_time_features": rand(1, whole, features), "past_observed_mask": torch.ones(1, whole)} if "past_time_features" in takes else {}
        more = [{"past_values": rand(1, length, wide)}, {"past_values": rand(1, whole), **dates}, {"past_values": rand(1, whole), **dates, "future_values": rand(1, 8), "future_time_features": rand(1, 8, features)}, {"past_values": rand(1, length)}, {"past_values": [rand(length)], "freq": [0]}]
    if "bbox" in takes:
        more = [{}, {"bbox": torch.zeros(1, 8, 4, dtype=torch.long)}, {"bbox": torch.zeros(1, 8, 8)}]
    if "noise" in takes or "bool_masked_pos" in takes:
        patches = (image // max(1, number(state(c, "patch_size"), 16))) ** 2
        more += [{"bool_masked_pos": torch.zeros(1, patches, dtype=torch.bool)}]
    if "task_inputs" in takes:
        more += [{"task_inputs": words(number(state(c, "task_seq_len"), 8))}]
    if "inputs" in takes:
        more += [{"inputs": words()}, {"inputs": rand(1, 8, number(state(c, "d_model"), 64))}]
    if "states" in takes:  # what decides, step by step
        more += [{"states": rand(1, 4, c.state_dim), "actions": rand(1, 4, c.act_dim), "rewards": rand(1, 4, 1), "returns_to_go": rand(1, 4, 1), "timesteps": torch.arange(4)[None], "attention_mask": torch.ones(1, 4)}]
    seen = 0
    for extra in more:
        for text in texts[::-1]:
            for answer in answers:
                for picture in (pictures if not text else [{}, *pictures]) or [{}]:
                    for sound in ([{}, *sounds] if text or picture or answer else sounds) or [{}]:
                        if one := {k: v for k, v in {**text, **answer, **picture, **sound, **extra}.items() if k in takes}:
                            seen += 1
                            yield one
                            if seen == MOST:
                                return


def numbers(out, found):
    """All tensors of numbers in an answer."""
    if isinstance(out, torch.Tensor):
        if out.is_floating_point() and out.numel():
            found.append(out)
    elif isinstance(out, dict):
        for v in out.values():
            numbers(v, found)
    elif isinstance(out, (list, tuple)):
        for v in out:
            numbers(v, found)
    return found


def run(model, given, dtype):
    given = {k: v.to(dtype) if isinstance(v, torch.Tensor) and v.is_floating_point() else v for k, v in given.items()}
    torch.manual_seed(11)  # some models draw numbers as they run
    with torch.no_grad():
        return numbers(model.eval()(**given), [])


class Feed:
    def __init__(self, model):
        self.how, self.what = None, None
        for dtype in (torch.bfloat16, torch.float32):
            model = model if dtype == torch.bfloat16 else model.to(dtype)
            for i, given in enumerate(combinations(model)):
                try:
                    out = run(model, given, dtype)
                except Exception as e:
                    self.what = self.what or f"{type(e).__name__}: {(str(e).strip().splitlines() or [''])[0]}"[:120]
                    continue
                if out and all(torch.isfinite(o).all() for o in out):
                    self.how, self.what = (i, dtype), sorted(given)
                    return
                self.what = self.what or "its answers are not finite numbers"
        self.what = self.what or "its forward takes none of the inputs tried"

    def __call__(self, model):
        if self.how is None:
            return []
        i, dtype = self.how
        model = model if dtype == torch.bfloat16 else torch.nn.Module.to(model, dtype)  # a model with codes says no to its own method
        return run(model, next(g for n, g in enumerate(combinations(model)) if n == i), dtype)
