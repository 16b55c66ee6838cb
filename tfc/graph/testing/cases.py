"""Test cases of graphs: unittest's, with a session for each test and checks of arrays."""

# ruff: noqa: PT009, PT027 - this extends unittest, whose checks it uses

import shutil
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tfc.graph.errors import OpError
from tfc.graph.graph import Graph, get_default_graph, reset_default_graph
from tfc.graph.running.session import Session

_SEED = 87654321


class TestCase(unittest.TestCase):
    """A test case whose tests begin with an empty default graph of a fixed seed."""

    __test__ = False  # it holds no tests itself

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        cls.__test__ = True

    def setUp(self) -> None:
        """Begin with an empty default graph."""
        reset_default_graph()
        get_default_graph().seed = _SEED
        np.random.seed(_SEED)
        self._session: Session | None = None
        self._folder: str | None = None

    def tearDown(self) -> None:
        """Close the test's session."""
        if self._session is not None:
            self._session.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def get_temp_dir(self) -> str:
        """A folder of this test's own, which goes with it."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp()
        return self._folder

    @contextmanager
    def _opened(
        self,
        graph: Graph | None = None,
        config: Any = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """A default session, the same one each time that no graph is stated."""
        if graph is not None:
            with Session(graph=graph, config=config) as session:
                yield session
            return
        if self._session is None or self._session.graph is not get_default_graph():
            self._session = Session(config=config)
        with self._session.graph.as_default(), self._session.as_default():
            yield self._session

    session = cached_session = _opened

    @property  # so that nobody takes it for a test
    def test_session(self) -> Any:
        """A function that gives a context: `with self.test_session() as session:`."""
        return self._opened

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors in the test's session."""
        with self.test_session() as session:
            return session.run(tensors)

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Check that arrays have the same shape and elements; NaN equals NaN."""
        np.testing.assert_array_equal(np.shape(a), np.shape(b), msg or "shapes")
        np.testing.assert_array_equal(a, b, msg or "")

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Check that arrays, or nested structures of them, are close."""
        if isinstance(a, dict):
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"{msg or ''} at {key!r}")
            return
        np.testing.assert_array_equal(np.shape(a), np.shape(b), msg or "shapes")
        np.testing.assert_allclose(a, b, rtol, atol, err_msg=msg or "")

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Check that numbers differ by `err` at most."""
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, msg or f"{f1} and {f2} differ by > {err}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float) -> None:
        """Check that the elements of lists differ by `err` at most."""
        self.assertEqual(len(farray1), len(farray2))
        for one, other in zip(farray1, farray2):
            self.assertNear(float(one), float(other), err)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any) -> None:
        """Check that a tensor has the shape of an array."""
        self.assertEqual(list(np.shape(np_array)), tf_tensor.get_shape().as_list())

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """A context in which an error of a run is raised whose message matches."""
        return self.assertRaisesRegex(OpError, expected_err_re_or_predicate)
