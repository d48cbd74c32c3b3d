"""Which texts lie near one another? A mark a text in a plane, by dataset; the axes mean nothing and are not drawn."""

from collections.abc import Mapping, Sequence

from dlbench.reporting.pictures.marks import WIDTH, draw, shape, text

_EDGE, _ROW = 6, 16


def draw_plane(title: str, groups: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Names stand above, each with its mark."""
    places = [place for points in groups.values() for place in points]
    least = [min((one[axis] for one in places), default=0.0) for axis in (0, 1)]
    span = max((one[axis] - least[axis] for one in places for axis in (0, 1)), default=1.0) or 1.0
    room, top = WIDTH - 2 * _EDGE, _ROW * len(groups) + _EDGE
    parts = []
    for number, (name, points) in enumerate(groups.items()):
        y = _ROW * (number + 0.5)
        parts += [shape(number, _EDGE + 4, y), text(_EDGE + 14, y + 4, name)]
        for across, down in points:
            x, y = _EDGE + room * (across - least[0]) / span, top + room * (down - least[1]) / span
            parts.append(shape(number, x, y, size=1.6))
    return draw(title, top + room + _EDGE, parts)
