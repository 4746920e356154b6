"""Python source as one document a module, class and function."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

import arborist
from arborist.corpus.config import SourceKind
from arborist.corpus.document import Document, Skip
from arborist.errors import InputError

Read = Callable[..., list[Document]]
ReadWithSkips = Callable[..., tuple[list[Document], list[Skip]]]

MODULE = '''\
"""Shapes and their areas.

More about shapes.
"""

import math

# how round pi is
PI = math.pi


@decorated
class Circle(Shape):
    """
    A circle.

    More about circles.
    """

    radius: float = 1.0  # metres

    @property
    def area(self) -> float:
        """In square metres.

        Never negative.
        """

        def square(x):
            return x * x

        return PI * square(self.radius)

    @area.setter
    def area(self, value: float) -> None:
        self.radius = math.sqrt(value / PI)

    class Part:
        def angle(self): return 1

    async def draw(
        self,
        pen: str,
    ) -> None:
        await pen


if PI > 3:

    def large() -> bool:
        return True

else:

    def large() -> bool:
        return False


try:
    import fast
except ImportError:
    def slow(): ...
'''


@pytest.fixture
def documents(tmp_path: Path, read: Read) -> dict[str, Document]:
    (tmp_path / "geometry").mkdir()
    (tmp_path / "geometry" / "shapes.py").write_text(MODULE)
    return {document.uri: document for document in read(SourceKind.CODE, tmp_path, name="code")}


def test_modules_classes_and_functions_are_documents_in_the_order_of_the_file(
    documents: dict[str, Document],
) -> None:
    assert [(document.uri, document.title) for document in documents.values()] == [
        ("code/geometry/shapes.py", "geometry.shapes"),
        ("code/geometry/shapes.py#Circle", "geometry.shapes.Circle"),
        ("code/geometry/shapes.py#Circle.area", "geometry.shapes.Circle.area"),
        ("code/geometry/shapes.py#Circle.Part", "geometry.shapes.Circle.Part"),
        ("code/geometry/shapes.py#Circle.Part.angle", "geometry.shapes.Circle.Part.angle"),
        ("code/geometry/shapes.py#Circle.draw", "geometry.shapes.Circle.draw"),
        ("code/geometry/shapes.py#large", "geometry.shapes.large"),
        ("code/geometry/shapes.py#slow", "geometry.shapes.slow"),
    ]


def test_a_module_is_outlined(documents: dict[str, Document]) -> None:
    text = documents["code/geometry/shapes.py"].text
    assert text.startswith('"""Shapes and their areas.\n\nMore about shapes.\n"""\n\nimport math\n\n# how round')
    assert '@decorated\nclass Circle(Shape):\n    """\n    A circle.\n' in text
    assert "def large() -> bool:\n" in text
    assert "def slow(): ..." in text
    assert "More about circles" not in text
    assert "return" not in text


def test_a_class_is_outlined(documents: dict[str, Document]) -> None:
    text = documents["code/geometry/shapes.py#Circle"].text
    assert text.startswith('@decorated\nclass Circle(Shape):\n    """\n    A circle.\n\n    More about circles.\n')
    assert "    radius: float = 1.0  # metres\n" in text
    assert '    @property\n    def area(self) -> float:\n        """In square metres.\n' in text
    assert "    async def draw(\n        self,\n        pen: str,\n    ) -> None:\n" in text
    assert "Never negative" not in text
    assert "await" not in text


def test_a_function_is_its_source_with_the_functions_inside_it(documents: dict[str, Document]) -> None:
    text = documents["code/geometry/shapes.py#Circle.draw"].text
    assert text == "    async def draw(\n        self,\n        pen: str,\n    ) -> None:\n        await pen\n"
    assert "def square(x):" in documents["code/geometry/shapes.py#Circle.area"].text


def test_definitions_of_one_name_are_one_document(documents: dict[str, Document]) -> None:
    area = documents["code/geometry/shapes.py#Circle.area"].text
    assert "Never negative" in area and "@area.setter" in area
    large = documents["code/geometry/shapes.py#large"].text
    assert "return True" in large and "return False" in large


def test_editing_one_function_leaves_the_others_what_they_were(
    tmp_path: Path, read: Read, documents: dict[str, Document]
) -> None:
    edited = MODULE.replace("return False", "return 1 > 2")
    (tmp_path / "geometry" / "shapes.py").write_text(edited)
    after = {document.uri: document for document in read(SourceKind.CODE, tmp_path, name="code")}
    assert [uri for uri in documents if documents[uri] != after[uri]] == ["code/geometry/shapes.py#large"]
    changed = [documents, after]
    assert len({version["code/geometry/shapes.py#large"].source_revision for version in changed}) == 2


def test_every_line_of_a_module_is_in_one_of_its_documents(read: Read) -> None:
    package = Path(arborist.__file__).parent
    lost = []
    for path in sorted((package / "corpus").rglob("*.py")):
        if not ast.parse(path.read_text()).body:
            continue
        texts = "\n".join(document.text for document in read(SourceKind.CODE, path))
        lost += [(path.name, line) for line in path.read_text().splitlines() if line not in texts]
    assert lost == []


def test_a_package_is_named_without_its_init_file(tmp_path: Path, read: Read) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text('"""A package."""\n')
    (tmp_path / "__init__.py").write_text('"""The top."""\n')
    titles = {document.uri: document.title for document in read(SourceKind.CODE, tmp_path)}
    assert titles == {"s/pack/__init__.py": "pack", "s/__init__.py": "__init__"}


def test_a_file_without_code_is_skipped_without_being_an_error(
    tmp_path: Path, read_with_skips: ReadWithSkips
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("")
    (tmp_path / "c.py").write_text("# only a comment\n")
    documents, skips = read_with_skips(SourceKind.CODE, tmp_path, on_error="fail")
    assert [document.text for document in documents] == ["x = 1\n"]
    assert [skip.place for skip in skips] == ["b.py", "c.py"]


@pytest.mark.parametrize(
    "data",
    [
        b"def f():\r\n    return 1\r\n",
        b"def f():\r    return 1\r",
        b"\xef\xbb\xbfdef f():\n    return 1\n",
        b"# -*- coding: latin-1 -*-\ndef f():\n    return '\xe9'\n",
        "def f():\n    return '\u2028', 1 \x0c\n".encode(),
        b"def f():\n    return '\\d'",
    ],
)
def test_line_ends_encodings_and_odd_escapes_are_pythons(tmp_path: Path, data: bytes, read: Read) -> None:
    (tmp_path / "a.py").write_bytes(data)
    function = read(SourceKind.CODE, tmp_path)[1]
    assert function.uri == "s/a.py#f"
    assert function.text.startswith("def f():")
    assert "    return" in function.text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x = 1\ndef f(:\n", r"a\.py: line 2: not Python that this version"),
        (b"x = '\xff'\n", r"a\.py: lines 1 and 2: neither UTF-8 nor"),
        (b"\n\n\nx = '\xff'\n", r"a\.py: line 4, byte 8: not utf-8, which is its encoding"),
        (b"# coding: nonsense\n", r"a\.py: lines 1 and 2: .*known encoding"),
        (b"# coding: ascii\nx = '\xc3\xa9'\n", r"a\.py: line 2, byte 21: not ascii"),
        (b"x = 1\0\n", r"a\.py: .*not Python"),
        (b"(" * 100_000, r"a\.py: .*not Python"),
        (b"x = " + b"-" * 100_000 + b"1", r"a\.py: .*not Python"),
    ],
)
def test_a_file_that_does_not_parse_is_an_error_or_a_skip(
    tmp_path: Path, data: bytes, message: str, read: Read, read_with_skips: ReadWithSkips
) -> None:
    (tmp_path / "a.py").write_bytes(data)
    (tmp_path / "b.py").write_text("x = 1\n")
    with pytest.raises(InputError, match=message):
        read(SourceKind.CODE, tmp_path)
    documents, skips = read_with_skips(SourceKind.CODE, tmp_path)
    assert [document.uri for document in documents] == ["s/b.py"]
    assert len(skips) == 1
