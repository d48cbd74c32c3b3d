"""Write the prompt of the track `optimise`: the reference's code, the inputs on which it is measured, and the rules."""

from dlbench.dataset.optimise import HELD_OUT, Workload
from dlbench.dataset.records import Instance
from dlbench.dataset.target import fenced, find_target

_RULES = """\
What counts:
- The behaviour stays the same: the project's tests pass, and each measured answer equals that of the code below.
  Numbers may differ by rounding; lower precision is wrong.
- Processor time of all threads is measured, from outside. Each call runs in a new process on an input that was not used
  before: nothing is kept between calls. Work on import, and work that is left for whoever reads the result, is added.
- Inputs are of the sizes below and of one more between the medium and the large one. Being slower on small inputs costs
  as much as it is slower.
- Peak memory of the call is measured, too."""


def ask_to_optimise(instance: Instance, source: str, workload: Workload) -> Instance:
    """The instance with another prompt. `source`: its module, from the user's workspace."""
    target = find_target(source, instance.qualname)
    sizes = [
        f"- {name}: {one.shape}; {_count(one.calls)}, {1000 * one.seconds:.0f} ms"
        for name, one in workload.sizes.items()
        if name != HELD_OUT
    ]
    text = [
        "It exists already. Make it as fast as you can, and let it need less memory where that costs no time.",
        f"What it does: {instance.prompt.strip()}",
        f"The code as it is:\n\n{fenced(target.text)}",
        "Inputs on which it is measured, and its processor time:\n" + "\n".join(sizes),
        _RULES,
    ]
    return instance.model_copy(update={"prompt": "\n\n".join(text)})


def _count(calls: int) -> str:
    return "one call" if calls == 1 else f"{calls} calls with an input each"
