"""Writes checkpoints with TensorFlow, and reads checkpoints as it does.

write(folder, names) writes those of NAMES, each in a folder of its own; read(prefix) returns what
tf.train.load_checkpoint gives: the type, the shape and the bytes of each tensor, little-endian.
"""
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

TYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "bool", "complex64", "complex128", "float8_e5m2", "float8_e4m3fn", "int4", "uint4", "qint8", "quint8", "qint32", "qint16", "quint16"]


def numbers(name):
    """A tensor of a type, whose elements differ."""
    t = tf.as_dtype(name)
    if t.is_quantized:
        plain = {"qint8": tf.int8, "quint8": tf.uint8, "qint16": tf.int16, "quint16": tf.uint16, "qint32": tf.int32}[name]
        return tf.bitcast(tf.constant([[1, 2, 3], [4, 5, 6]], plain), t)
    if t == tf.bool:
        return tf.constant([[True, False, True], [False, False, True]])
    if t.is_complex:
        return tf.constant(np.array([[1 + 2j, -3j, 4], [0.5, -1, 1j]], t.as_numpy_dtype))
    return tf.cast(tf.constant([[1, 2, 3], [4, 5, 6]], tf.float32 if t.is_floating else tf.int32), t)


def types(folder):
    """A tensor of each type that is saved, a scalar, an empty one, and texts."""
    names, values = [], []
    for name in TYPES:
        names.append(f"types/{name}")
        values.append(numbers(name))
    names += ["scalar", "empty", "texts", "texts/none"]
    values += [tf.constant(1.5), tf.zeros([0, 3]), tf.constant(["a", "", "ünder", "x" * 300]), tf.constant([], tf.string)]
    order = sorted(range(len(names)), key=lambda i: len(names[i]))  # the data is not in the order of the names
    tf.raw_ops.SaveV2(prefix=str(folder / "model.ckpt"), tensor_names=[names[i] for i in order], shape_and_slices=[""] * len(names), tensors=[values[i] for i in order])


def object(folder):
    """A model of tf.Module with an optimizer of Keras, by tf.train.CheckpointManager, which keeps two of three."""
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.reshape(tf.range(12, dtype=tf.float32), [4, 3]) / 8, name="w")
            self.b = tf.Variable(tf.ones([3], tf.bfloat16), name="b")
            self.table = {"one": tf.Variable(tf.constant([1, 2], tf.int64))}

    step = tf.Variable(0, dtype=tf.int64)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=Model(), step=step), str(folder), max_to_keep=2)
    for _ in range(3):
        step.assign_add(1)
        manager.save()


def slices(folder):
    """Variables in several parts, as partitioners of TensorFlow 1 save them, one of them with a part that is whole in a dimension."""
    rows = tf.reshape(tf.range(100 * 7, dtype=tf.float32), [100, 7])
    grid = tf.reshape(tf.range(6 * 5, dtype=tf.int32), [6, 5])
    parts = [("embedding", "100 7 0,40:-", rows[:40]), ("embedding", "100 7 40,60:-", rows[40:]),
             ("grid", "6 5 0,2:0,5", grid[:2]), ("grid", "6 5 2,4:0,3", grid[2:, :3]), ("grid", "6 5 2,4:3,2", grid[2:, 3:]),
             ("far", "70000 1 0,69999:-", tf.ones([69999, 1], tf.int8)), ("far", "70000 1 69999,1:-", 2 * tf.ones([1, 1], tf.int8)),
             ("whole", "2 2 0,2:0,2", tf.constant([[1., 2.], [3., 4.]])), ("plain", "", tf.constant([7, 8], tf.int16))]
    tf.raw_ops.SaveV2(prefix=str(folder / "model.ckpt-7"), tensor_names=[p[0] for p in parts], shape_and_slices=[p[1] for p in parts], tensors=[p[2] for p in parts])


def shards(folder):
    """Three processes that save a part each, merged, with the text that names the newest checkpoint."""
    prefixes = []
    for i, (names, values) in enumerate([
            (["a", "c"], [tf.range(5, dtype=tf.float32), tf.constant([[1, 2]], tf.int32)]),
            (["b"], [tf.constant(2.5, tf.float64)]),
            (["d/kernel", "d/bias"], [tf.ones([3, 3], tf.float16), tf.zeros([3], tf.float16)])]):
        prefixes.append(str(folder / f"part{i}"))
        tf.raw_ops.SaveV2(prefix=prefixes[-1], tensor_names=names, shape_and_slices=[""] * len(names), tensors=values)
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=prefixes, destination_prefix=str(folder / "model.ckpt-20"), delete_old_dirs=False)
    tf.compat.v1.train.update_checkpoint_state(str(folder), "model.ckpt-20")


def many(folder):
    """So many tensors that the index has several blocks."""
    names = [f"{i:04d}/" + "scope/" * 25 + "kernel" for i in range(1700)]
    tf.raw_ops.SaveV2(prefix=str(folder / "model.ckpt"), tensor_names=names, shape_and_slices=[""] * len(names), tensors=[tf.constant([i % 100], tf.int8) for i in range(len(names))])


def boxes(rng, begin, size):
    """Cuts a box at random until chance ends it."""
    k = int(rng.integers(len(size)))
    if size[k] < 2 or rng.integers(4) == 0:
        return [(begin, size)]
    at = int(rng.integers(1, size[k]))
    low, high, far = list(size), list(size), list(begin)
    low[k], high[k], far[k] = at, size[k] - at, begin[k] + at
    return boxes(rng, begin, low) + boxes(rng, far, high)


def random(folder):
    """Variables of random shapes and types, cut into random boxes, in random order."""
    rng = np.random.default_rng(int(folder.name.rpartition("-")[2]))
    parts = []
    for i in range(6):
        shape = [int(n) for n in rng.integers(1, 90, int(rng.integers(1, 4)))]
        whole = tf.cast(tf.reshape(tf.range(int(np.prod(shape))), shape), ["float32", "float64", "int32", "bfloat16"][i % 4])  # it reads no float16 in parts
        cut = boxes(rng, [0] * len(shape), shape)
        for begin, size in cut:
            spec = " ".join(map(str, shape)) + " " + ":".join(f"{a},{n}" for a, n in zip(begin, size)) if len(cut) > 1 else ""
            parts.append((f"v{i}", spec, tf.slice(whole, begin, size)))
    parts = [parts[i] for i in rng.permutation(len(parts))]
    tf.raw_ops.SaveV2(prefix=str(folder / "model.ckpt"), tensor_names=[p[0] for p in parts], shape_and_slices=[p[1] for p in parts], tensors=[p[2] for p in parts])


NAMES = {"types": types, "object": object, "slices": slices, "shards": shards, "many": many}


def write(folder, names=NAMES):
    for name in names:
        (folder / name).mkdir(parents=True)
        NAMES.get(name, random)(folder / name)
        yield folder / name


def read(prefix):
    """What TensorFlow reads of a checkpoint: a list of name, type, shape and bytes, or texts, by name."""
    reader = tf.train.load_checkpoint(str(prefix))
    types = reader.get_variable_to_dtype_map()
    out = []
    for name, shape in sorted(reader.get_variable_to_shape_map().items()):
        array = np.asarray(reader.get_tensor(name))
        stored = types[name].name
        data = array.tobytes() if stored != "string" else b"".join(array.reshape(-1).tolist())
        out.append((name, stored, list(shape), data))
    return out


def prefix(folder):
    """The checkpoint of a folder: the newest by its text, or the only one."""
    return tf.train.latest_checkpoint(str(folder)) or str(next(pathlib.Path(folder).glob("*.index"))).removesuffix(".index")
