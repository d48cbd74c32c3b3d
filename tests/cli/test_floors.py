"""The dataset meets its promised minimum size, variety and test quality."""

import json

STAGES = ("pre_post_processing", "model_construction", "training", "inference", "evaluation_metrics")
TASKS = {
    "classification": 60,
    "regression": 14,
    "object_detection": 30,
    "image_segmentation": 37,
    "time_series_prediction": 24,
    "recommendation": 17,
}
DATA = {"image": 130, "text": 28, "structured_array": 84}


def test_benchmark_meets_its_minimum_counts(dlbench):
    found = json.loads(dlbench("stats", "--json").out)
    floors = {
        "instances": (found["instances"], 600),
        "projects": (found["projects"], 40),
        "methods": (found["methods"] / found["instances"], 0.25),
        "tests_median": (found["tests_median"], 10),
        "mutation_score_median": (found["mutation_score_median"], 0.75),
        "after_2025_06": (found["after_2025_06"], 100),
    }
    floors |= {stage: (found["stage"].get(stage, 0), 58) for stage in STAGES}
    floors |= {task: (found["task"].get(task, 0), floor) for task, floor in TASKS.items()}
    floors |= {data: (found["data"].get(data, 0), floor) for data, floor in DATA.items()}
    floors |= {f"alpha of {axis}": (found["alpha"][axis], 0.83) for axis in ("stage", "task", "data")}
    assert {name: pair for name, pair in floors.items() if pair[0] < pair[1]} == {}
