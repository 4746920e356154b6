"""Python source: one document a module, class and function, so that an answer can cite just that."""

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from arborist.corpus.document import Document, Skip
from arborist.corpus.sources.entries import Entry, Fault, checked, entry_name, printable
from arborist.corpus.sources.files import FileSource, read_bytes
from arborist.hashing import Domain, hash_json

# Python's own notion of a line: a form feed or a Unicode separator does not end one
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")

_NOT_PYTHON = "not Python that this version of Python can parse"
_BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class CodeSource(FileSource):
    """A function's document is its source. A module's or class's is its source with the bodies of what it
    defines cut down to the first line of their docstrings; they are documents of their own, except functions
    inside functions, which belong to the outer one.

    Definitions of one name in one scope (a property and its setter, overloads, both branches of an `if`)
    make one document. A document's revision is the digest of its text, so that editing one function leaves
    the others what they were.
    """

    READER_VERSION = "code-1"

    def entries(self) -> Iterator[Entry]:
        return self.each_file(self._module)

    def _module(self, path: Path) -> Iterator[Entry]:
        data = read_bytes(path)
        module = data if isinstance(data, Fault) else _parsed(data, path)
        if isinstance(module, Fault):
            yield module
            return
        tree, lines = module
        if not tree.body:
            yield Skip(printable(entry_name(self.config, path)), "no code and no docstring in it")
            return
        name = _module_name(entry_name(self.config, path))
        yield self._document(path, "", name, _outline(tree.body, lines, 1, len(lines)))
        for qualified_name, text in _definitions(tree.body, lines, ""):
            yield self._document(path, qualified_name, f"{name}.{qualified_name}", text)

    def _document(self, path: Path, qualified_name: str, title: str, text: str) -> Document | Fault:
        uri = self.file_uri(path)
        document = Document(
            uri=f"{uri}#{qualified_name}" if qualified_name else uri,
            title=title,
            text=text,
            source_type=self.config.kind.value,
            source_revision=hash_json(Domain.SOURCE_REVISION, text),
        )
        return checked(document, path, qualified_name)


def _parsed(data: bytes, path: Path) -> tuple[ast.Module, list[str]] | Fault:
    text = _decoded(data, path)
    if isinstance(text, Fault):
        return text
    try:
        with warnings.catch_warnings():
            # an invalid escape in the user's code is no business of ours
            warnings.simplefilter("ignore")
            return ast.parse(text), _LINE.findall(text)
    except SyntaxError as error:
        return Fault(path, f"line {error.lineno}" if error.lineno else "", _NOT_PYTHON)
    except (ValueError, RecursionError, MemoryError):
        # NUL characters, or nesting beyond the parser's stack
        return Fault(path, "", _NOT_PYTHON)


def _decoded(data: bytes, path: Path) -> str | Fault:
    """The text in the encoding that the file declares (Python Language Reference, Encoding declarations)."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Fault(path, f"line {line}, byte {error.start}", f"not {error.encoding}, which is its encoding")
    except SyntaxError:
        return Fault(path, "lines 1 and 2", "neither UTF-8 nor the declaration of a known encoding")


def _module_name(name: str) -> str:
    """`package/module.py` as it is imported: `package.module`, and the package for its `__init__.py`."""
    parts = name.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _definitions(body: Sequence[ast.stmt], lines: Sequence[str], prefix: str) -> Iterator[tuple[str, str]]:
    """Qualified name and text of what the scope defines, a class before its members."""
    groups: dict[str, list[Definition]] = {}
    for definition in _members(body):
        groups.setdefault(definition.name, []).append(definition)
    for name, group in groups.items():
        yield prefix + name, "\n".join(_definition_text(definition, lines) for definition in group)
        inner = [statement for node in group if isinstance(node, ast.ClassDef) for statement in node.body]
        yield from _definitions(inner, lines, f"{prefix}{name}.")


def _members(nodes: Iterable[ast.AST]) -> Iterator[Definition]:
    """Classes and functions of a scope, also those under `if`, `try`, `with`, `match` and loops."""
    for node in nodes:
        if isinstance(node, Definition):
            yield node
        elif isinstance(node, _BLOCKS):
            yield from _members(ast.iter_child_nodes(node))


def _definition_text(definition: Definition, lines: Sequence[str]) -> str:
    first, last = _first_line(definition), _last_line(definition)
    if isinstance(definition, ast.ClassDef):
        return _outline(definition.body, lines, first, last)
    return "".join(lines[first - 1 : last])


def _outline(body: Sequence[ast.stmt], lines: Sequence[str], first: int, last: int) -> str:
    """Lines `first` to `last` without the bodies of the definitions among them."""
    dropped = {number for definition in _members(body) for number in _body_lines(definition, lines)}
    return "".join(lines[number - 1] for number in range(first, last + 1) if number not in dropped)


def _body_lines(definition: Definition, lines: Sequence[str]) -> range:
    """The lines after the definition's head and the first line with words of its docstring."""
    statement = definition.body[0]
    start = _first_line(statement)
    before = lines[start - 1].encode()[: statement.col_offset]
    if before.strip():
        # body and head share a line
        return range(0)
    last = _last_line(definition)
    if ast.get_docstring(definition) is not None:
        worded = (number for number in range(start, last + 1) if re.search(r"\w", lines[number - 1]))
        start = next(worded, start) + 1
    return range(start, last + 1)


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, Definition) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
