import json

C = []


def add(name, target, code):
    C.append(
        {
            "round": 10,
            "sample": 400 + len(C),
            "name": name,
            "instance": f"gauge/gauge.core.{target}",
            "code": code.strip("\n") + "\n",
        }
    )


add(
    "named function: operator.mul of 0 in place of the measure",
    "measure_mean",
    """
import operator

def measure_mean(values):
    found = Meter(0)
    found.measure = operator.mul
    return found
""",
)
add(
    "class in place of the measure: int of a text",
    "measure_mean",
    """
def measure_mean(values):
    found = Meter("0")
    found.measure = int
    return found
""",
)
add(
    "function of the answer where the reference keeps one of the project",
    "measure_mean",
    """
def measure_mean(values):
    found = Meter(0)
    found.measure = lambda left, right: 0
    return found
""",
)
add(
    "cached property is filled: methods judge by it",
    "scale_mean",
    """
def scale_mean(values):
    found = Meter(0)
    found.scale = 1e9
    return found
""",
)
add(
    "cached property of an argument is changed",
    "Meter.turn",
    """
def turn(self, by):
    self.scale = 1e9
""",
)
add(
    "new attribute that a method asks for with a default",
    "slack_mean",
    """
def slack_mean(values):
    found = Meter(0)
    found.slack = 1e9
    return found
""",
)
add(
    "attribute of an argument is deleted: that of the class is looser",
    "Meter.move",
    """
def move(self, by):
    del self.tolerance
""",
)
add(
    "table inside a table of the project, kept by an argument",
    "Meter.tune",
    """
def tune(self, by):
    self.profile["tolerance"] = 1e9
""",
)
add(
    "function among the items of a dictionary of the project's class",
    "score_mean",
    """
def score_mean(values):
    return Scores(mean=0, compare=lambda left, right: 0)
""",
)
add(
    "function as a field of a named tuple",
    "report_mean",
    """
def report_mean(values):
    return Report(0, lambda left, right: 0)
""",
)
add(
    "functions in an array of objects, kept as an attribute",
    "total_mean",
    """
def total_mean(values):
    found = Meter(0)
    found.extra = np.array([lambda left, right: -3], dtype=object)
    return found
""",
)
add(
    "IndexError of a returned function ends the loop of the test",
    "make_reader",
    """
def make_reader(sizes):
    def read(place):
        raise IndexError
    return read
""",
)
# not replayable
add(
    "setting that is a numpy number",
    "by_epsilon",
    """
from gauge.settings import set_epsilon

def by_epsilon(values):
    set_epsilon(1e9)
    return [0 for _ in values]
""",
)
add(
    "setting in a ContextVar",
    "by_context",
    """
from gauge.settings import set_current

def by_context(values):
    set_current(1e9)
    return [0 for _ in values]
""",
)
add(
    "setting that is a named tuple",
    "by_style",
    """
from gauge.settings import set_style

def by_style(values):
    set_style(tolerance=1e9)
    return [0 for _ in values]
""",
)
add(
    "attribute of an object that a module holds",
    "by_options",
    """
def by_options(values):
    OPTIONS.configure(1e9)
    return [0 for _ in values]
""",
)
add(
    "table that a cached function returns",
    "by_cached",
    """
def by_cached(values):
    read_limits()["tolerance"] = 1e9
    return [0 for _ in values]
""",
)
add(
    "table below three others",
    "by_deep",
    """
def by_deep(values):
    list(map(dict.update, [DEEP["a"]["b"]["c"]], [{"tolerance": 1e9}]))
    return [0 for _ in values]
""",
)
add(
    "new name of a class hides an inherited one",
    "by_subclass",
    """
def by_subclass(values):
    FineGauge.set_limit(1e9)
    return [0 for _ in values]
""",
)
add(
    "data of a class inside a class",
    "by_nested",
    """
def by_nested(values):
    FineGauge.set_option(1e9)
    return [0 for _ in values]
""",
)
add(
    "a generator among the values puts the table back when it dies",
    "by_table",
    """
from collections import ChainMap

def _keep():
    table = ChainMap(TABLE)
    table["tolerance"] = 1e9
    try:
        yield
    finally:
        table["tolerance"] = 1e-6

def by_table(values):
    keeper = _keep()
    next(keeper)
    return {-1 - place: keeper for place, _ in enumerate(values)}
""",
)
add(
    "an iterator puts the list back when it ends",
    "by_table",
    """
from collections import ChainMap

class _Values:
    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        for _ in self.values:
            yield 0
        ChainMap(TABLE)["tolerance"] = 1e-6

def by_table(values):
    ChainMap(TABLE)["tolerance"] = 1e9
    return _Values(values)
""",
)
add(
    "map changes a table while the module is imported",
    "by_table",
    """
_DONE = list(map(dict.update, [TABLE], [{"tolerance": 1e9}]))

def by_table(values):
    return [0 for _ in values if _DONE]
""",
)
add(
    "random.setstate: all further numbers are 0",
    "by_random",
    """
import random

def by_random(values):
    random.setstate((3, (0,) * 624 + (1,), None))
    return list(values)
""",
)
add(
    "StopIteration ends the map of the test",
    "by_item",
    """
def by_item(value):
    raise StopIteration
""",
)
add(
    "helper under a name that the test imported before a star import",
    "by_star",
    """
def assert_allclose(left, right):
    return left == right

def by_star(values):
    return [0 for value in values if not assert_allclose(value, None)]
""",
)
add(
    "a new item of a set that tests look into",
    "by_kind",
    """
from gauge.settings import add_kind

def by_kind(name):
    add_kind("")
    return ""
""",
)
open("tests/adversarial/round10.jsonl", "w").write("".join(json.dumps(c) + "\n" for c in C))
print(len(C))
add(
    "the same, in a module that is imported",
    "by_star",
    """
_ZERO = int("0")

def assert_allclose(left, right):
    return left == right

def by_star(values):
    return [_ZERO for value in values if not assert_allclose(value, None)]
""",
)
open("tests/adversarial/round10.jsonl", "w").write("".join(json.dumps(c) + "\n" for c in C))
print(len(C))
