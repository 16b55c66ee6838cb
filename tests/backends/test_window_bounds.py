"""The bounds of loops along windows, and of windows along an array, are what counting says."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tfc.backends.mlir.windows import bounds_inside
from tfc.hlo.attributes.window import WindowDimension

DIMENSIONS = st.builds(
    WindowDimension, size=st.integers(1, 4), stride=st.integers(1, 3), low=st.integers(-2, 5),
    high=st.integers(-2, 5), window_dilation=st.integers(1, 3),
)  # fmt: skip


@settings(deadline=None)
@given(DIMENSIONS, st.integers(0, 9))
def test_bounds_hold_what_is_inside_and_nothing_else(d: WindowDimension, size: int):
    count = d.count(size)
    place = {(p, k): p * d.stride + k * d.window_dilation - d.low
             for p in range(count) for k in range(d.size)}  # fmt: skip
    if count:
        assert d.reach(count) == (min(place.values()), max(place.values()))
    for p in range(count):
        elements = bounds_inside(
            p * d.stride - d.low, d.window_dilation, size, (0, d.size), d.reach(count)
        )
        assert list(range(*elements)) == [k for k in range(d.size) if 0 <= place[p, k] < size]
    for k in range(d.size):
        start = k * d.window_dilation - d.low
        windows = bounds_inside(start, d.stride, size, (0, count), d.reach(count))
        assert list(range(*windows)) == [p for p in range(count) if 0 <= place[p, k] < size]


@settings(deadline=None)
@given(DIMENSIONS, st.integers(1, 9), st.integers(1, 3))
def test_the_transposed_window_finds_the_windows_of_each_element(
    d: WindowDimension, size: int, dilation: int
):
    d = WindowDimension(d.size, d.stride, d.low, d.high, dilation, d.window_dilation)
    count = d.count(size)
    if not count:
        return
    back = d.transposed(size, count)
    assert back.count(count) == size
    for k in range(d.size):
        windows, places = d.meeting(size, count, k)
        elements, found = back.meeting(count, size, d.size - 1 - k)
        assert sorted(zip(windows, places)) == sorted(zip(found, elements))
