"""Writes the honest file of this folder, with Keras 3.15.1: python3 generate.py, in this folder."""
import os

os.environ["KERAS_BACKEND"] = "torch"
import keras

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Dense(2)])
model.save("model.keras")
