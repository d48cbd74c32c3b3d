"""Define the labels of an instance: three axes, one value each, with definitions.

The definitions are the papers' (appendix F), in our words; annotators vote by them, and a label that is not listed here
is a malformed record. The command line imports this module first, so it imports nothing heavy.
"""

from enum import StrEnum


class Label(StrEnum):
    """A value with its definition; members are written `NAME = slug, definition`."""

    definition: str

    def __new__(cls, slug: str, definition: str) -> "Label":
        member = str.__new__(cls, slug)
        member._value_ = slug
        member.definition = definition
        return member


class Stage(Label):
    """The stage of the machine-learning pipeline that the function serves."""

    PRE_POST_PROCESSING = (
        "pre_post_processing",
        "turns data into what a model takes, or what a model gives into what a person wants: "
        "loading, cleaning, scaling, augmenting, tokenising, decoding, drawing",
    )
    MODEL_CONSTRUCTION = (
        "model_construction",
        "defines the model or a part of it: layers, kernels, forward passes, parameters, losses",
    )
    TRAINING = (
        "training",
        "fits a model: optimisers, schedules, gradient handling, training loops, callbacks, distributed training",
    )
    INFERENCE = ("inference", "uses a fitted model: prediction, sampling, posterior queries, generation, search")
    EVALUATION_METRICS = (
        "evaluation_metrics",
        "says how good something is: metrics, scores, comparison of predictions with truth, reports",
    )


class Task(Label):
    """The learning task that the function belongs to."""

    CLASSIFICATION = ("classification", "assigns one or several of a fixed set of classes, to wholes or to tokens")
    REGRESSION = ("regression", "predicts continuous values")
    OBJECT_DETECTION = ("object_detection", "finds and tracks objects by boxes, anchors, key points")
    IMAGE_SEGMENTATION = ("image_segmentation", "assigns a class or an object to every pixel or voxel")
    TIME_SERIES_PREDICTION = ("time_series_prediction", "forecasts or analyses values ordered in time")
    RECOMMENDATION = ("recommendation", "ranks or proposes items for users or queries")
    GENERAL = ("general", "serves several of these, or none in particular")


class Data(Label):
    """The kind of data that the function takes in."""

    IMAGE = ("image", "pictures, volumes, video frames")
    TEXT = ("text", "strings, tokens, tagged sequences of words")
    STRUCTURED_ARRAY = ("structured_array", "tables and arrays whose columns are features")
    OTHERS = ("others", "parameters, hyper-parameters, embeddings, distributions, anything else")


class Framework(StrEnum):
    """The library that a project computes with."""

    TORCH = "torch"
    JAX = "jax"
    TENSORFLOW = "tensorflow"
    KERAS = "keras"
    NUMPY = "numpy"


class Track(StrEnum):
    """A kind of instances. Scores of different tracks are never mixed."""

    FUNCTION = "function"
    REBUILD = "rebuild"
    COMPONENT = "component"
    RELEASE = "release"
    OPTIMISE = "optimise"


AXES: dict[str, type[Label]] = {"stage": Stage, "task": Task, "data": Data}
