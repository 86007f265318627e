"""Writes images, sounds, films and documents by their libraries into testdata/media.

    python3 crosscheck/kinds/media.py testdata/media

Pillow 12, PyAV 16 (FFmpeg), reportlab 4 and Python's wave.
"""
import fractions
import pathlib
import sys
import wave

import av
import numpy as np
from PIL import Image
from reportlab.pdfgen import canvas

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(1)
image = Image.fromarray(rng.integers(0, 255, (9, 11, 3), dtype=np.uint8))
for name in ("png", "jpg", "gif", "webp", "bmp", "tiff", "ico"):
    image.save(out / ("image." + name))
image.save(out / "progressive.jpg", progressive=True, exif=b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0")
image.save(out / "animated.gif", save_all=True, append_images=[image.rotate(90)], duration=100, loop=0)
image.save(out / "animated.webp", save_all=True, append_images=[image.rotate(90)], lossless=True)
image.save(out / "compressed.tiff", compression="tiff_lzw")

sound = (rng.standard_normal(2400) * 3000).astype(np.int16)
with wave.open(str(out / "sound.wav"), "wb") as w:
    w.setnchannels(1); w.setsampwidth(2); w.setframerate(16000); w.writeframes(sound.tobytes())


def audio(name, codec, rate=16000, fmt="s16"):
    with av.open(str(out / name), "w") as c:
        s = c.add_stream(codec, rate=rate)
        s.layout = "mono"
        f = av.AudioFrame.from_ndarray(sound[None], format="s16", layout="mono")
        f.sample_rate = rate
        f.pts = 0
        r = av.AudioResampler(format=s.format, layout="mono", rate=rate)
        for g in r.resample(f) + r.resample(None):
            for p in s.encode(g):
                c.mux(p)
        for p in s.encode(None):
            c.mux(p)


audio("sound.flac", "flac")
audio("sound.mp3", "libmp3lame")
audio("sound.ogg", "libopus", 48000)
audio("sound.m4a", "aac")
for name, codec in (("film.mp4", "mpeg4"), ("film.avi", "mpeg4")):
    with av.open(str(out / name), "w") as c:
        s = c.add_stream(codec, rate=fractions.Fraction(5))
        s.width, s.height, s.pix_fmt = 16, 16, "yuv420p"
        for i in range(4):
            f = av.VideoFrame.from_ndarray(rng.integers(0, 255, (16, 16, 3), dtype=np.uint8), format="rgb24")
            for p in s.encode(f):
                c.mux(p)
        for p in s.encode(None):
            c.mux(p)
page = canvas.Canvas(str(out / "page.pdf"))
page.drawString(72, 720, "A page.")
page.save()
