#!/usr/bin/env python3
"""Adds a release to a table in data/, from its sources. Nothing of the sources is imported or run.

    update.py vllm         0.34.0 DIRECTORY   (contains the package `vllm`)
    update.py sglang       0.5.24 DIRECTORY   (contains the package `sglang`)
    update.py picker-llm-d 0.11.0 DIRECTORY   (Go sources of llm-d-router)
    update.py sidecar      0.11.0 DIRECTORY   (the same)
    update.py kserve       0.21.0 DIRECTORY   (CRDs as controller-gen writes them; also gie, llm-d-router, lws, odh-kserve)
    update.py schemas      0.21.0 DIRECTORY   (CRDs of any project: their whole schemas)

`--data FOLDER` writes other tables, `--dry-run` only prints the changes. Releases are added in order:
the new one must follow the last one of the table.

A section that this program does not read (feature gates, parsers) is carried over from the release
before, and listed, so that a person can check it. So are parameters of a plugin whose factory has an
unknown form; a new plugin is `open` then: its parameters are not judged until they are written down.
"""

import argparse
import ast
import datetime
import json
import pathlib
import re
import sys

# Tests run this program; the folder of sources stays as it is.
sys.dont_write_bytecode = True
import picker_plugins  # noqa: E402

# --- tables ----------------------------------------------------------------------------------


def spec_key(spec):
    """Returns a spec in a form that can be compared: the order of choices and aliases is no fact."""
    if not isinstance(spec, dict):
        return spec
    return {k: sorted(map(str, v)) if isinstance(v, list) else v for k, v in spec.items()}


def add_release(table, version, facts):
    """Adds a release. `facts` has sections of names, each with its spec, or None for names only.
    Returns the changes as lines."""
    last = table["versions"][-1]
    if version in table["versions"]:
        raise SystemExit(f"{version} is already in the table")
    table["versions"].append(version)
    changes = []

    # A section per variable with choices, which releases add and remove.
    variables = {section for section in {**table, **facts} if "VLLM_" in section}
    for section in sorted(variables):
        table.setdefault(section, {})
        facts.setdefault(section, {})
    for section, names in table.items():
        if section in ("versions", "built_on", "name", "read"):
            continue
        if section not in facts:
            # Open ranges now include the new release.
            changes.append(f"{section}: carried over from {last}, not read")
            continue
        found = facts[section]
        for name in sorted(set(names) | set(found)):
            ranges = names.get(name)
            current = next((r for r in ranges or () if r.endswith("..")), None)
            if name not in found:
                if current is not None:
                    close(names, name, current, last)
                    changes.append(f"{section}: - {name}")
                continue
            spec = found[name]
            if current is None:
                begin(names, name, version, spec)
                changes.append(f"{section}: + {name}")
            elif spec is not None and spec_key(ranges[current]) != spec_key(spec):
                close(names, name, current, last)
                begin(names, name, version, spec)
                changes.append(f"{section}: ~ {name} {json.dumps(spec)}")
        table[section] = dict(sorted(names.items()))
    return changes


def carried(found, before):
    """Returns a spec in which the facts that were not read are those of the release before."""
    if not isinstance(found, dict) or not isinstance(before, dict):
        return found
    if found.get("open") and not before.get("open"):
        return {**before, **{key: value for key, value in found.items() if key not in ("open", "type")}}
    # A deprecation may be in a comment.
    marks = {key: before[key] for key in ("deprecated", "removal", "use") if key in before}
    inner = {}
    for key in ("parameters", "fields"):
        if isinstance(found.get(key), dict) and isinstance(before.get(key), dict):
            inner[key] = {name: carried(spec, before[key].get(name)) for name, spec in found[key].items()}
    return {**marks, **found, **inner}


def carry_plugins(table, found):
    """Completes the plugins that were read. Returns the names of those that are carried over in part."""
    names = []
    for name, spec in found.items():
        ranges = table["plugins"].get(name, {})
        current = next((spec for span, spec in ranges.items() if span.endswith("..")), None)
        found[name] = carried(spec, current)
        if found[name] != spec and any(key not in spec or spec[key] != value for key, value in found[name].items()):
            names.append(name)
    return names


def close(names, name, current, last):
    ranges = names[name]
    if isinstance(ranges, list):
        ranges[ranges.index(current)] = current + last
    else:
        names[name] = {(r + last if r == current else r): s for r, s in ranges.items()}


def begin(names, name, version, spec):
    if spec is None:
        names.setdefault(name, []).append(f"{version}..")
    else:
        names.setdefault(name, {})[f"{version}.."] = spec


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write(path, table):
    """Writes one line per name."""
    parts = []
    for key, value in table.items():
        if isinstance(value, dict) and value:
            lines = ",\n".join(f" {compact(k)}:{compact(v)}" for k, v in value.items())
            parts.append(f"{compact(key)}:{{\n{lines}\n}}")
        else:
            parts.append(f"{compact(key)}:{compact(value)}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def write_kinds(path, tables):
    """Writes the projects of kinds.json, one line per kind."""
    parts = []
    for project, table in tables.items():
        rows = (f" {json.dumps(key)}:{compact(spans)}" for key, spans in table["kinds"].items())
        head = "".join(f"{json.dumps(key)}:{compact(table[key])}," for key in table if key != "kinds")
        parts.append(f'"{project}":{{{head}"kinds":{{\n' + ",\n".join(rows) + "\n}}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


# --- Python sources --------------------------------------------------------------------------


class Module:
    """A parsed file: its classes, functions, assignments and imports at the top level, and the
    assignments in functions (`locals`)."""

    def __init__(self, name, tree, is_package=False):
        self.name, self.names, self.imports, self.typed = name, {}, {}, {}
        # Imports for type checkers name the values of types that are plain strings at run time.
        for imports, nodes in ((self.typed, ast.walk(tree)), (self.imports, self.runtime(tree))):
            for node in nodes:
                if isinstance(node, ast.ImportFrom):
                    # Relative imports start at the folder of the file.
                    parts = name.split(".")
                    origin = parts[: len(parts) - node.level + is_package] if node.level else []
                    origin = ".".join([*origin, *filter(None, [node.module])])
                    for alias in node.names:
                        imports[alias.asname or alias.name] = (origin, alias.name)
        # Choices of flags are variables of the function that registers them.
        assigned = (n for n in ast.walk(tree) if isinstance(n, ast.Assign))
        self.locals = {n.targets[0].id: n.value for n in assigned if isinstance(n.targets[0], ast.Name)}
        for node in self.statements(tree.body):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                self.names[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                # A class that is rebuilt under its own name still has the body of its definition.
                if not isinstance(self.names.get(node.targets[0].id), ast.ClassDef):
                    self.names[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                if node.value is not None:
                    self.names[node.target.id] = node.value

    def runtime(self, tree):
        """Yields the nodes without those that only type checkers see."""
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
                for other in node.orelse:
                    yield from (other, *self.runtime(other))
                continue
            yield node
            yield from self.runtime(node)

    def statements(self, body):
        for node in body:
            yield node
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
                yield from self.statements(node.orelse)
            elif isinstance(node, (ast.If, ast.Try)):
                yield from self.statements(node.body)


class Package:
    """Python sources below a folder, parsed when they are needed."""

    def __init__(self, root):
        self.root, self.modules = pathlib.Path(root), {}

    def module(self, name):
        if name not in self.modules:
            path = self.root / name.replace(".", "/")
            files = [path.with_suffix(".py"), path / "__init__.py"]
            file = next((f for f in files if f.is_file()), None)
            is_package = file == files[1]
            self.modules[name] = Module(name, ast.parse(file.read_text()), is_package) if file else None
        return self.modules[name]

    def below(self, name):
        """Yields the modules of a folder."""
        for file in sorted((self.root / name.replace(".", "/")).rglob("*.py")):
            parts = file.relative_to(self.root).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            yield self.module(".".join(parts))

    def look(self, module, name, depth=0):
        """Returns the module and node that a name stands for."""
        if module is None or depth > 8:
            return None
        if name in module.names:
            return module, module.names[name]
        if name in module.imports:
            origin, original = module.imports[name]
            return self.look(self.module(origin), original, depth + 1)
        return None

    def bases(self, module, cls):
        """Yields a class and its bases, the class first."""
        yield module, cls
        for base in cls.bases:
            found = self.look(module, base.id) if isinstance(base, ast.Name) else None
            if found and isinstance(found[1], ast.ClassDef):
                yield from self.bases(*found)

    def fields(self, module, cls):
        """Returns the annotations of a dataclass by name, with the module of each."""
        fields = {}
        for owner, base in reversed(list(self.bases(module, cls))):
            for node in base.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    if not ast.unparse(node.annotation).startswith(("ClassVar", "InitVar")):
                        fields[node.target.id] = (owner, node.annotation)
        return fields

    def members(self, module, name):
        """Returns the names of an enumeration's members; none for another class."""
        found = self.look(self.module(module.typed[name][0]), module.typed[name][1]) if name in module.typed else None
        found = found or self.look(module, name)
        if not found or not isinstance(found[1], ast.ClassDef):
            return []
        if not any(ast.unparse(base).endswith("Enum") for base in found[1].bases):
            return []
        targets = [node.targets[0] for node in found[1].body if isinstance(node, ast.Assign)]
        return [target.id for target in targets if isinstance(target, ast.Name) and target.id[0] != "_"]

    def known(self, module, node):
        """Returns the values that an annotation names in addition to plain strings: literals and enumerations."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        values = [v for hint in self.hints(module, node) if hint[0] == "literal" for v in hint[1]]
        for name in [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]:
            origin = module.typed.get(name)
            found = self.look(self.module(origin[0]), origin[1]) if origin else None
            if found and not isinstance(found[1], ast.ClassDef):
                values += [v for hint in self.hints(*found) if hint[0] == "literal" for v in hint[1]]
            values += self.members(module, name)
        return sorted({value for value in values if isinstance(value, str)})

    def value(self, module, node, depth=0):
        """Returns a literal value, following names; None if it is computed at run time."""
        if node is None or depth > 8:
            return None
        if isinstance(node, ast.Name):
            found = self.look(module, node.id) or (module, module.locals.get(node.id))
            return self.value(*found, depth + 1)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            items = []
            for item in node.elts:
                starred = isinstance(item, ast.Starred)
                value = self.value(module, item.value if starred else item, depth + 1)
                if value is None and not (isinstance(item, ast.Constant) and item.value is None):
                    return None
                items.extend(value) if starred else items.append(value)
            return items
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left = self.value(module, node.left, depth + 1)
            right = self.value(module, node.right, depth + 1)
            return left + right if isinstance(left, list) and isinstance(right, list) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found = self.look(module, node.func.id)
            if found and isinstance(found[1], ast.FunctionDef):
                returned = [n.value for n in found[1].body if isinstance(n, ast.Return)]
                return self.value(found[0], returned[-1], depth + 1) if returned else None
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("list", "get_args", "sorted"):
            inner = node.args[0] if node.args else None
            literals = [h[1] for h in self.hints(module, inner) if h[0] == "literal"] if inner else []
            return list(literals[0]) if literals else self.value(module, inner, depth + 1)
        return node.value if isinstance(node, ast.Constant) else None

    def hints(self, module, node, depth=0):
        """Returns the types in an annotation: ("int",), ("literal", values), ("list", hints),
        ("dataclass", name) …"""
        if depth > 12:
            return []
        again = lambda inner: self.hints(module, inner, depth + 1)  # noqa: E731
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return again(ast.parse(node.value, mode="eval").body)
            return [("none",)]
        if isinstance(node, ast.BinOp):
            return again(node.left) + again(node.right)
        if isinstance(node, ast.Subscript):
            name = ast.unparse(node.value).split(".")[-1]
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if name == "Optional":
                return again(inner[0]) + [("none",)]
            if name == "Union":
                return [hint for item in inner for hint in again(item)]
            if name in ("Annotated", "A", "SkipValidation", "Required"):
                return again(inner[0])
            if name == "Literal":
                return [("literal", tuple(self.literals(module, inner)))]
            if name.lower() in ("list", "tuple", "set", "sequence", "iterable"):
                return [("list", tuple(again(inner[0])))]
            if name.lower() in ("dict", "mapping"):
                return [("dict",)]
            return [("class", name)]
        name = ast.unparse(node).split(".")[-1]
        if name in ("int", "float", "str", "bool", "dict"):
            return [(name,)]
        if name in ("list", "tuple", "set"):
            return [("list", (("str",),))]
        found = self.look(module, name)
        if found and isinstance(found[1], ast.ClassDef):
            decorators = " ".join(ast.unparse(d) for d in found[1].decorator_list)
            bases = [ast.unparse(base) for base in found[1].bases]
            if any(base.startswith(("dict", "TypedDict", "Dict")) for base in bases):
                return [("dict",)]
            is_data = "dataclass" in decorators or "config" in decorators
            return [("dataclass" if is_data else "class", name)]
        return self.hints(*found, depth + 1) if found else [("class", name)]

    def literals(self, module, nodes):
        for node in nodes:
            if isinstance(node, ast.Constant):
                yield node.value
            else:
                for hint in self.hints(module, node):
                    yield from hint[1] if hint[0] == "literal" else ()


def scalar(hints):
    """Returns type and choices of the items of a list."""
    for hint in hints:
        if hint[0] == "literal":
            values = [v for v in hint[1] if v is not None]
            return ("int" if all(isinstance(v, int) for v in values) else "str"), values
    names = [hint[0] for hint in hints]
    return next((name for name in ("int", "float") if name in names), "str"), []


# --- vLLM ------------------------------------------------------------------------------------


class Vllm:
    """The flags of `vllm serve`."""

    def __init__(self, root):
        self.package, self.flags, self.values, self.inner = Package(root), {}, {}, []
        self.arguments = self.package.module("vllm.engine.arg_utils")
        self.human = set(re.findall(r'"(\w+)"', self.human_text())) | {"max_model_len"}

    def human_text(self):
        """Returns the source of the set of fields that accept `32k`."""
        text = (self.package.root / "vllm/engine/arg_utils.py").read_text()
        found = re.search(r"human_readable_int_args\s*=\s*\{(.*?)\}", text, re.S)
        return found.group(1) if found else ""

    def facts(self):
        for name in ("EngineArgs", "AsyncEngineArgs"):
            cls = self.arguments.names.get(name)
            self.method(self.arguments, cls, "add_cli_args")
        for module in self.package.below("vllm.entrypoints"):
            cls, parser = module.names.get("FrontendArgs"), module.names.get("make_arg_parser")
            if isinstance(cls, ast.ClassDef):
                self.frontend(module, cls)
            if isinstance(parser, ast.FunctionDef) and isinstance(cls, ast.ClassDef):
                self.body(module, parser.body, {})
        facts = {"flags": self.flags, "fields": self.json_fields(), "env": self.variables()}
        facts.update({f"--{flag}": dict.fromkeys(values) for flag, values in self.values.items()})
        # Some variables are read in any case; other variables are lists.
        envs = (self.package.root / "vllm/envs.py").read_text()
        choices = r'env_with_choices\(\s*"(VLLM_\w+)",\s*[^,\[]+,\s*\[([^\]]*)\],?\s*(case_sensitive=False)?'
        for name, values, in_any_case in re.findall(choices, envs):
            values = re.findall(r'"([^"]*)"', values.lower() if in_any_case else values)
            facts[f"fold {name}" if in_any_case else name] = dict.fromkeys(values)
        # Python's logging refuses others when vLLM is imported.
        levels = ("critical", "debug", "error", "fatal", "info", "notset", "warn", "warning")
        facts["fold VLLM_LOGGING_LEVEL"] = dict.fromkeys(levels)
        facts["env_types"] = self.variable_types(envs)
        for flag, folder, old in (
            ("--tool-call-parser", "tool_parsers", "entrypoints.openai.tool_parsers"),
            ("--reasoning-parser", "reasoning", "reasoning"),
        ):
            names = self.registered(folder) or self.registered(old)
            if names:
                facts[flag] = dict.fromkeys(names)
        for section, folder in (("kv_connectors", "kv_transfer/kv_connector"), ("ec_connectors", "ec_transfer/ec_connector")):
            names = self.connectors(f"vllm/distributed/{folder}/factory.py")
            if names:
                facts[section] = names
        metrics = self.metrics()
        return {**facts, "metrics": metrics} if metrics else facts

    def metrics(self):
        """Returns the kinds of metrics, empty if the name is written elsewhere. Counters are without the `_total`
        that Prometheus' client adds to their names."""
        kinds = {}
        for file in sorted(self.package.root.rglob("*.py")):
            # Readers have names as they are exposed, and beginnings of names.
            if '"vllm:' not in file.read_text() or {"benchmarks", "reader.py", "orca_metrics.py"} & {*file.parts}:
                continue
            for node in ast.walk(ast.parse(file.read_text())):
                call = isinstance(node, ast.Call)
                values = [*node.args, *(keyword.value for keyword in node.keywords)] if call else [node]
                kind = re.search("counter|gauge|histogram", ast.unparse(node.func).lower() if call else "")
                for value in values:
                    text = value.value if isinstance(value, ast.Constant) else None
                    if isinstance(text, str) and re.fullmatch(r"vllm:\w*[^\W_]", text):
                        kinds[text] = kind[0] if kind else kinds.get(text, "")
        return {
            name.removeprefix("vllm:").removesuffix("_total" if kind == "counter" else "-"): kind
            for name, kind in kinds.items()
        }

    def registered(self, folder):
        """Returns the names of the parsers that the package of a folder registers when they are used."""
        module = self.package.module(f"vllm.{folder}")
        tables = [node for name, node in module.names.items() if name.endswith("_TO_REGISTER")] if module else []
        return [key.value for table in tables if isinstance(table, ast.Dict) for key in table.keys]

    def json_fields(self):
        """Returns the fields of the classes of JSON values, and of the classes of their fields."""
        found, fields = [spec.get("class") for spec in self.flags.values()], {}
        for name in found:
            at = self.package.look(self.arguments, name) if name else None
            at = at or next((at for at in self.inner if at[1].name == name), None)
            if not at or not isinstance(at[1], ast.ClassDef):
                continue
            public = {field: of for field, of in self.package.fields(*at).items() if field[0] != "_"}
            for field, (module, node) in public.items():
                spec, classes = self.json_field(at, field, module, node)
                fields[f"{name}.{field}"] = spec
                self.inner += classes
                found += [one[1].name for one in classes if one[1].name not in found]
        return fields

    def conversions(self, at, field):
        """Returns the source of the validators that convert a field before pydantic looks at its type."""
        before = []
        for node in at[1].body:
            for call in getattr(node, "decorator_list", ()):
                text = ast.unparse(call)
                names = [arg.value for arg in getattr(call, "args", ()) if isinstance(arg, ast.Constant)]
                if text.startswith("field_validator(") and "mode='before'" in text and {"*", field} & {*names}:
                    before.append(ast.unparse(node))
        return "\n".join(before)

    def json_field(self, at, field, module, node):
        """Returns the type of a field as pydantic reads it from JSON, and the classes in it."""
        hints = self.package.hints(module, node)
        literals = [v for hint in hints if hint[0] == "literal" for v in hint[1]]
        null = ["null"] if ("none",) in hints or None in literals else []
        classes = [self.package.look(module, hint[1]) for hint in hints if hint[0] == "dataclass"]
        # A validator reads the names of members in any case.
        names = [hint[1] for hint in hints if hint[0] == "class"]
        text = ast.unparse(at[1])
        parsed = [name for name in names if re.search(rf"\b{name}(\[\w+\.upper|\.__members__)", text)]
        members = [member for name in parsed for member in self.package.members(module, name)]
        if members and len(names) == 1:
            return {"type": "|".join(["member", *null]), "choices": members}, []
        kinds = {"dict": "object", "dataclass": "", "class": "any", "literal": "choice"}
        converted = self.conversions(at, field)
        if ".lower().replace('-', '_')" in converted:
            kinds["literal"] = "fold"
        types = [hint[1] if hint[0] == "dataclass" else kinds.get(hint[0], hint[0]) for hint in hints if hint != ("none",)]
        if "list" in types and ".split(" in converted:
            types.append("str")
        spec = {"type": "|".join([*dict.fromkeys(types), *null]) or "any"}
        values = [v for v in dict.fromkeys(literals) if v is not None]
        return {**spec, "choices": values} if {"choice", "fold"} & {*types} else spec, [one for one in classes if one]

    def connectors(self, path):
        file = self.package.root / path
        text = file.read_text() if file.is_file() else ""
        return dict.fromkeys(re.findall(r'register_connector\(\s*"(\w+)"', text))

    def variables(self):
        text = (self.package.root / "vllm/envs.py").read_text()
        return dict.fromkeys(re.findall(r'^\s+"(VLLM_\w+)":', text, re.M))

    def variable_types(self, envs):
        """Returns the types of the variables that are read as numbers, also as those of switches."""
        call = r'\b(int|float|maybe_convert_int|maybe_convert_bool)\(\s*os\.(?:getenv\(|environ\.get\(|environ\[)\s*"(VLLM_\w+)"'
        return {name: {"type": "float" if kind == "float" else "int"} for kind, name in re.findall(call, envs)}

    def kwargs(self, module, name):
        """Returns the specs of the fields of a configuration class, as get_kwargs derives them."""
        found = self.package.look(module, name)
        if not found or not isinstance(found[1], ast.ClassDef):
            return {}
        specs = {}
        for field, at in self.package.fields(*found).items():
            specs[field] = self.spec(field, self.package.hints(*at))
            self.inner += filter(None, [self.package.look(at[0], specs[field].get("class", ""))])
            if specs[field] == {"type": "str"} or specs[field] == {"type": "str", "none": True}:
                specs[field]["values"] = self.package.known(*at)
        return specs

    def spec(self, field, hints):
        names = {hint[0] for hint in hints}
        of = lambda kind: next((hint for hint in hints if hint[0] == kind), None)  # noqa: E731
        if of("dataclass"):
            spec = {"type": "json", "class": of("dataclass")[1]}
        elif names == {"bool", "str", "none"}:
            return {"type": "str", "nargs": "?"}
        elif "bool" in names:
            return {"type": "bool"}
        elif of("literal"):
            values = [v for hint in hints if hint[0] == "literal" for v in hint[1] if v is not None]
            kind = "int" if all(isinstance(v, int) for v in values) else "str"
            spec = {"type": kind, "choices": sorted(values, key=str)}
            if "str" in names:
                spec = {"type": "str"}
        elif of("list"):
            kind, choices = scalar(of("list")[1])
            spec = {"type": kind, "nargs": "+"}
            if choices:
                spec["choices"] = sorted(choices, key=str)
        elif "int" in names:
            spec = {"type": "hint" if field in self.human else "int"}
        elif "float" in names:
            spec = {"type": "float"}
        elif "dict" in names:
            spec = {"type": "json|str" if {"str", "class"} & names else "json"}
        else:
            spec = {"type": "str"}
        if "none" in names and field != "max_model_len":
            spec["none"] = True
        return spec

    def method(self, module, cls, name):
        for node in cls.body if cls else ():
            if isinstance(node, ast.FunctionDef) and node.name == name:
                self.body(module, node.body, {})

    def frontend(self, module, cls):
        """Adds the flags of a class whose fields are flags, after its customizations."""
        specs = self.kwargs(module, cls.name)
        for owner, base in reversed(list(self.package.bases(module, cls))):
            for node in base.body:
                if isinstance(node, ast.FunctionDef) and "customize" in node.name:
                    self.body(owner, node.body, {node.args.args[-1].arg: specs})
        for field, spec in specs.items():
            self.add([f"--{field.replace('_', '-')}"], spec)

    def lookup(self, node, env):
        """Returns the dictionary that `kwargs["field"]["key"]` stands for."""
        if isinstance(node, ast.Name):
            return env.get(node.id)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            inner = self.lookup(node.value, env)
            return inner.get(node.slice.value) if isinstance(inner, dict) else None
        return None

    def body(self, module, body, env):
        for node in body:
            if isinstance(node, ast.Assign):
                self.assign(module, node, env)
            elif isinstance(node, ast.Delete):
                for target in node.targets:
                    inner = self.lookup(target.value, env) if isinstance(target, ast.Subscript) else None
                    # `append` is an action here, which the deletion of `nargs` leaves.
                    if isinstance(inner, dict) and inner.get("nargs") != "append":
                        inner.pop(ast.literal_eval(target.slice), None)
            elif isinstance(node, ast.If):
                self.body(module, node.body, env)
                self.body(module, node.orelse, env)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                call = node.value
                method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
                if method == "add_argument":
                    self.argument(module, call, env)
                values = self.lookup(call.func.value, env) if method == "remove" else None
                if isinstance(values, list):
                    values.remove(self.package.value(module, call.args[0]))

    def assign(self, module, node, env):
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name):
            inner = value.value if isinstance(value, ast.Subscript) else value
            if isinstance(inner, ast.Call) and ast.unparse(inner.func) == "get_kwargs":
                found = self.kwargs(module, ast.unparse(inner.args[0]))
                env[target.id] = found.get(ast.literal_eval(value.slice), {}) if inner is not value else found
            elif self.lookup(value, env) is not None:
                env[target.id] = self.lookup(value, env)
        elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            spec = self.lookup(target.value, env)
            if isinstance(spec, dict):
                self.keyword(module, spec, target.slice.value, value)

    def argument(self, module, call, env):
        names = [node.value for node in call.args if isinstance(node, ast.Constant)]
        spec = {}
        for keyword in call.keywords:
            if keyword.arg is None:
                spec.update(self.expanded(module, keyword.value, env))
        for keyword in call.keywords:
            if keyword.arg is not None:
                self.keyword(module, spec, keyword.arg, keyword.value)
        if names and names[0].startswith("-"):
            self.add(names, spec)

    def expanded(self, module, node, env):
        """Returns the spec of `**kwargs["field"]` or `**{**kwargs["field"], "default": None}`."""
        if not isinstance(node, ast.Dict):
            return dict(self.lookup(node, env) or {})
        spec = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                spec.update(self.lookup(value, env) or {})
            else:
                self.keyword(module, spec, ast.literal_eval(key), value)
        return spec

    def keyword(self, module, spec, key, node):
        """Applies a keyword of add_argument to a spec."""
        text = ast.unparse(node)
        if key == "type":
            spec.pop("class", None)
            kinds = {"int": "int", "float": "float", "str": "str"}
            json_like = "json" in text or "from_cli" in text
            kind = kinds.get(text, "json" if json_like else "hint" if "human" in text else "str")
            spec["type"] = "fold" if text.startswith("lambda") and "choices" in spec else kind
        elif key == "action":
            kind = {"'store_true'": "flag", "'store_false'": "flag", "'append'": "append"}.get(text)
            if text.endswith("BooleanOptionalAction"):
                kind = "bool"
            if kind == "append":
                spec["nargs"] = "append"
            elif kind:
                spec["type"] = kind
        elif key == "nargs":
            spec["nargs"] = self.package.value(module, node)
        elif key == "choices":
            values = self.package.value(module, node)
            if values:
                spec["choices"] = values
            else:
                spec.pop("choices", None)
        elif key == "deprecated":
            spec["deprecated"] = True

    def add(self, names, spec):
        longs = [name for name in names if name.startswith("--")]
        name = (longs or names)[0]
        order = ("type", "nargs", "choices", "none", "alias", "deprecated", "use", "class")
        spec = {"type": "str", **spec, "alias": [other for other in names if other != name]}
        if spec.get("values"):
            self.values[name.lstrip("-")] = spec["values"]
        # Some values are read as plain JSON first, and become an object of the class later.
        assumed = name.title().replace("-", "")
        found = self.package.look(self.arguments, assumed) if spec["type"] == "json" else None
        if found and isinstance(found[1], ast.ClassDef) and "config" in map(ast.unparse, found[1].decorator_list):
            spec.setdefault("class", assumed)
        self.flags[name.lstrip("-")] = {key: spec[key] for key in order if spec.get(key)}


# --- SGLang ----------------------------------------------------------------------------------


class Sglang:
    """The flags of SGLang's server: annotated fields of the classes of its arguments."""

    def __init__(self, root):
        self.package, self.flags = Package(root), {}

    def facts(self):
        modules = [*self.package.below("sglang.srt.arg_groups.fields")]
        modules.append(self.package.module("sglang.srt.server_args"))
        for module in modules:
            for node in module.names.values():
                if isinstance(node, ast.ClassDef):
                    self.fields(module, node)
                    for inner in ast.walk(node):
                        self.manual(module, inner)
        return {"flags": self.flags, "env": self.variables()}

    def variables(self):
        file = self.package.root / "sglang/srt/environ.py"
        text = file.read_text() if file.is_file() else ""
        return dict.fromkeys(re.findall(r"^\s+((?:SGLANG|SGL)_\w+)\s*[:=]", text, re.M))

    def fields(self, module, cls):
        for node in cls.body:
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.annotation, ast.Subscript):
                continue
            if ast.unparse(node.annotation.value) not in ("A", "Annotated"):
                continue
            parts = node.annotation.slice.elts
            arg = next((p for p in parts[1:] if isinstance(p, ast.Call) and ast.unparse(p.func) == "Arg"), None)
            is_text = any(isinstance(p, (ast.Constant, ast.JoinedStr)) for p in parts[1:])
            if arg is None and not is_text:
                continue
            keywords = {k.arg: k.value for k in arg.keywords} if arg else {}
            if "no_cli" in keywords and self.package.value(module, keywords["no_cli"]):
                continue
            name = self.package.value(module, keywords.get("cli_name"))
            name = name or "--" + node.target.id.replace("_", "-")
            self.add([name, *(self.package.value(module, keywords.get("aliases")) or [])], self.spec(module, parts[0], keywords))

    def spec(self, module, annotation, keywords):
        hints = [hint for hint in self.package.hints(module, annotation) if hint[0] != "none"]
        first = hints[0] if hints else ("str",)
        choices = self.package.value(module, keywords.get("choices")) or []
        parser = ast.unparse(keywords["type_parser"]) if "type_parser" in keywords else ""
        if "action" in keywords:
            return self.action(module, keywords)
        if first[0] == "literal" and parser:
            # The choices are those of what the parser returns, not of the text.
            return {"type": "str"}
        if first[0] == "literal":
            kind, values = scalar([first])
            return {"type": kind, "choices": choices or values}
        if first[0] == "list" and not parser:
            nargs = self.package.value(module, keywords.get("nargs")) or "+"
            return {"type": scalar(first[1])[0], "nargs": nargs, "choices": choices}
        if first == ("bool",):
            return {"type": "flag"}
        kind = first[0] if first[0] in ("int", "float") else "str"
        if parser:
            kind = {"int": "int", "float": "float", "str": "str"}.get(parser)
            kind = kind or ("json" if "json" in parser else "hint" if "human" in parser else "str")
        return {"type": kind, "nargs": self.package.value(module, keywords.get("nargs")), "choices": choices}

    def action(self, module, keywords):
        text = ast.unparse(keywords["action"])
        more = keywords.get("action_kwargs")
        inner = {}
        if isinstance(more, ast.Dict):
            inner = {self.package.value(module, k): v for k, v in zip(more.keys, more.values)}
        kind = ast.unparse(inner["type"]) if "type" in inner else "str"
        if "BooleanOptional" in text:
            spec = {"type": "bool"}
        elif "store_true" in text or "store_false" in text or "StoreTrue" in text:
            spec = {"type": "flag"}
        else:
            nargs = self.package.value(module, inner.get("nargs"))
            spec = {"type": "flag"} if nargs == 0 else {"type": kind, "nargs": nargs}
        if "Deprecated" in text:
            spec["deprecated"] = True
            use = self.package.value(module, inner.get("new_flag"))
            spec["use"] = use if isinstance(use, str) else None
        return spec

    def manual(self, module, node):
        """Adds a flag that is registered by a call."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        if node.func.attr != "add_argument" or ast.unparse(node.func.value) != "parser":
            return
        names = [a.value for a in node.args if isinstance(a, ast.Constant)]
        keywords = {k.arg: k.value for k in node.keywords}
        action = ast.unparse(keywords["action"]) if "action" in keywords else ""
        spec = {"type": ast.unparse(keywords["type"]) if "type" in keywords else "str"}
        if spec["type"] not in ("int", "float"):
            spec["type"] = "str"
        if "store_" in action or "StoreTrue" in action:
            spec["type"] = "flag"
        if action.split(".")[-1] == "DeprecatedAction":
            spec["type"] = "flag"  # its class takes no value
        if "Deprecated" in action:
            spec["deprecated"] = True
            spec["use"] = self.package.value(module, keywords.get("new_flag"))
        spec["choices"] = self.package.value(module, keywords.get("choices"))
        spec["nargs"] = self.package.value(module, keywords.get("nargs"))
        if names and names[0].startswith("--"):
            self.add(names, spec)

    def add(self, names, spec):
        order = ("type", "nargs", "choices", "alias", "deprecated", "use")
        spec = {**spec, "alias": names[1:]}
        self.flags[names[0].lstrip("-")] = {key: spec[key] for key in order if spec.get(key)}


# --- Go programs -----------------------------------------------------------------------------

KINDS = {
    "String": "str", "Bool": "bool", "Int": "int", "Int32": "int", "Int64": "int", "Uint": "uint",
    "Float64": "float", "Duration": "duration", "StringSlice": "list", "StringArray": "list",
    "IntSlice": "list",
}  # fmt: skip


# Flags that `BindFlags` of controller-runtime's zap options registers.
ZAP = {
    "zap-devel": "bool", "zap-encoder": "str", "zap-log-level": "str", "zap-stacktrace-level": "str",
    "zap-time-encoding": "str",
}  # fmt: skip


def go_flags(*folders):
    """Returns the flags that the Go files of folders register with `flag` or `pflag`."""
    files = sorted(f for folder in folders for f in pathlib.Path(folder).rglob("*.go"))
    texts = [f.read_text() for f in files if not f.name.endswith("_test.go")]
    constants = {}
    for text in texts:
        constants.update(re.findall(r'^\s*(?:const\s+)?(\w+)\s*(?:string\s*)?=\s*"([^"]*)"', text, re.M))
    name = lambda text: text.strip('"') if text.startswith('"') else constants.get(text.split(".")[-1])  # noqa: E731
    flags = {}
    for text in texts:
        kinds = "|".join(KINDS)
        call = rf'\.({kinds})(Var)?(P)?\(\s*(?:&?[\w.\[\]()]+\s*,\s*)?("[\w.-]+"|[\w.]+)\s*,(\s*"(\w)"\s*,)?'
        for kind, var, short, written, _, letter in re.findall(call, text):
            found = name(written)
            if found and re.fullmatch(r"[A-Za-z][\w-]*", found) and (var or written.startswith('"')):
                flags[found] = {"type": KINDS[kind], **({"short": letter} if short and letter else {})}
    for text in texts:
        for written in re.findall(r'MarkDeprecated\(\s*("[\w.-]+"|[\w.]+)', text):
            if name(written) in flags:
                flags[name(written)]["deprecated"] = True
    if any(re.search(r"[zZ]ap\w*\.BindFlags\(", text) for text in texts):
        flags.update({name: {"type": kind} for name, kind in ZAP.items()})
    return flags


def sidecar(root):
    return {"flags": go_flags(find(root, ("cmd/disagg-sidecar", "cmd/pd-sidecar", "pkg/sidecar")))}


def picker(root):
    logging = [pathlib.Path(root) / folder for folder in ("pkg/common/observability/logging", "pkg/epp/util/logging")]
    facts = {"flags": go_flags(find(root, ("pkg/epp/server", "cmd/epp")), *logging)}
    plugins = picker_plugins.plugins(root)
    return {**facts, "plugins": plugins} if plugins else facts


def find(root, folders):
    for folder in folders:
        path = pathlib.Path(root) / folder
        if path.is_dir() and go_flags(path):
            return path
    raise SystemExit(f"{root}: no flags in {', '.join(folders)}")


# --- CRDs ------------------------------------------------------------------------------------


def scalar_of(text):
    """Returns the value of a plain or quoted YAML scalar."""
    if text[:1] == "'":
        return text[1:-1].replace("''", "'")
    if text[:1] == '"' or re.fullmatch(r"-?\d+(\.\d+)?|true|false|null|\[\]|\{\}", text):
        return json.loads(text)
    return text


def tree(text):
    """Returns the value of a YAML document as controller-gen writes it: maps, lists and scalars in blocks.
    Texts of several lines, which are descriptions, are shortened to their first."""
    lines = [(len(line) - len(line.lstrip(" ")), line.strip()) for line in text.splitlines()]
    lines = [(indent, line) for indent, line in lines if line and line != "---" and line[0] != "#"]
    at = 0

    def node(indent):
        nonlocal at
        if at == len(lines) or lines[at][0] < indent:
            return None
        indent = lines[at][0]
        found = [] if lines[at][1].startswith("- ") else {}
        while at < len(lines) and lines[at][0] == indent:
            line = lines[at][1]
            if line.startswith("- ") != isinstance(found, list):
                break
            if isinstance(found, list):
                # The rest of the line begins a value with more indentation.
                lines[at] = (indent + 2, line[2:])
                is_map = re.match(r"[\w$./-]+:( |$)", line[2:])
                found.append(node(indent + 2) if is_map else text_at(indent, line[2:]))
                continue
            key, _, value = line.partition(":")
            value = value.strip()
            if value:
                found[scalar_of(key)] = text_at(indent, value)
            else:
                at += 1
                # Lists have the indentation of their key.
                is_list = at < len(lines) and lines[at][0] == indent and lines[at][1].startswith("- ")
                found[scalar_of(key)] = node(indent if is_list else indent + 1)
        return found

    def text_at(indent, value):
        nonlocal at
        at += 1
        first = at
        while at < len(lines) and lines[at][0] > indent:
            at += 1
        return value if at > first else scalar_of(value)

    return node(0) or {}


# Marks values with any fields.
OPEN = "x-kubernetes-preserve-unknown-fields"

# Keywords that validate values, as far as the program checks them.
KEYWORDS = (
    "type", "enum", "pattern", "required", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
    "minProperties", "maxProperties", "x-kubernetes-int-or-string", OPEN, "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
)  # fmt: skip


def reduced(schema):
    """Returns a schema without texts and defaults; `pod` marks the spec of a pod, which Kubernetes knows."""
    fields = schema.get("properties") or {}
    if {"containers", "initContainers"} <= fields.keys():
        return {"pod": True, OPEN: True}
    kept = {key: schema[key] for key in KEYWORDS if key in schema}
    if schema.get("format") == "int32":
        kept = {"minimum": -(2**31), "maximum": 2**31 - 1, **kept}
    # The API server fills defaults in before it looks.
    given = [name for name in kept.pop("required", ()) if (fields.get(name) or {}).get("default") is None]
    if given:
        kept["required"] = given
    if fields:
        kept["properties"] = {name: reduced(inner) for name, inner in sorted(fields.items())}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            kept[key] = reduced(schema[key])
    # Kubernetes reads the fields of embedded metadata by itself.
    is_bare = schema.get("type") == "object" and not fields and "additionalProperties" not in kept
    return {**kept, OPEN: True} if is_bare else kept


def either(one, other):
    """Returns a schema that accepts what any of two accepts: of releases, and of versions of one."""
    parts = ("properties", "items", "additionalProperties", "pod", OPEN)
    if [key in one for key in parts] != [key in other for key in parts]:
        return {OPEN: True}
    if "pod" in one:
        return one
    both = {key: one[key] for key in KEYWORDS if key in one and one[key] == other.get(key)}
    if "properties" in one:
        first, second = one["properties"], other["properties"]
        shared = {name: either(first[name], second[name]) for name in first.keys() & second.keys()}
        both["properties"] = dict(sorted({**second, **first, **shared}.items()))
    for key in ("items", "additionalProperties"):
        if key in one:
            both[key] = either(one[key], other[key])
    if "enum" in one and "enum" in other:
        both["enum"] = sorted({*one["enum"], *other["enum"]})
    required = [name for name in one.get("required", ()) if name in other.get("required", ())]
    return {**both, "required": required} if required else both


def crds(root):
    """Yields the CRDs below a folder: group, kind and versions, each with the schema of its objects."""
    for file in sorted(pathlib.Path(root).rglob("*.yaml")):
        spec = tree(file.read_text()).get("spec")
        versions = spec.get("versions") if isinstance(spec, dict) else None
        if isinstance(versions, list):
            schema = lambda version: version["schema"]["openAPIV3Schema"]  # noqa: E731
            yield spec.get("group", ""), spec["names"]["kind"], [(v, schema(v)) for v in versions if "schema" in v]


def add_schemas(table, root):
    """Adds the schemas of `spec` of all kinds in CRDs to the table, and yields the changes."""
    for group, kind, versions in crds(root):
        # Presets have the fields of their services.
        key = f"{group}/{kind.removesuffix('Config')}"
        for _, schema in versions:
            spec = reduced((schema.get("properties") or {}).get("spec") or {})
            if spec.get("properties"):
                table[key] = either(table[key], spec) if key in table else spec
        yield f"{key}: {len(json.dumps(table.get(key)))} characters"


def kinds(root):
    """Returns the versions of kinds that CRDs serve."""
    served = ((group, kind, v) for group, kind, versions in crds(root) for v, _ in versions if v["served"])
    return {"kinds": {f"{group}/{version['name']} {kind}": None for group, kind, version in served}}


# Projects of kinds.json.
PROJECTS = ("gie", "llm-d-router", "lws", "kserve", "odh-kserve")

READERS = {
    "schemas": add_schemas,
    **dict.fromkeys(PROJECTS, kinds),
    "vllm": lambda root: Vllm(root).facts(),
    "sglang": lambda root: Sglang(root).facts(),
    "sidecar": sidecar,
    "picker-llm-d": picker,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=READERS)
    parser.add_argument("version")
    parser.add_argument("sources")
    parser.add_argument("--data", default=pathlib.Path(__file__).parent / "data", type=pathlib.Path)
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args()

    file = "kinds" if given.table in PROJECTS else given.table
    path = given.data / f"{file}.json"
    tables = json.loads(path.read_text())
    if given.table == "schemas":
        # CRDs keep their fields: those of all releases are one table.
        print("\n".join(add_schemas(tables, given.sources)))
        if not given.dry_run:
            write(path, tables)
        return
    table = tables[given.table] if file == "kinds" else tables
    facts = READERS[given.table](given.sources)
    if not any(facts.values()):
        sys.exit(f"{given.sources}: nothing found; has the form of the sources changed?")
    partly = carry_plugins(table, facts["plugins"]) if "plugins" in facts else []
    changes = add_release(table, given.version, facts)
    table["read"] = datetime.date.today().isoformat()
    changes.extend(f"plugins: {name} carried over in part, not read" for name in partly)
    print("\n".join(changes))
    if not given.dry_run:
        write_kinds(path, tables) if file == "kinds" else write(path, table)


if __name__ == "__main__":
    main()
