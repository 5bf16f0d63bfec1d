"""Reads the plugins of an endpoint picker from its Go sources, which are parsed as text and not run.

A plugin is a call in cmd/: `plugin.Register(package.Type, plugin.StabilityAlpha, package.Factory)`. Its
parameters are the JSON fields of the struct that the factory decodes. Where that is not found, the
plugin is `open`: its parameters are not judged.
"""

import pathlib
import re

NUMBERS = {"int": "int", "int32": "int", "int64": "int", "uint": "uint", "uint32": "uint", "uint64": "uint"}
SCALARS = {**NUMBERS, "string": "str", "bool": "bool", "float32": "float", "float64": "float"}
# Types of other modules, by their last two parts.
OTHERS = {"metav1.Duration": "duration", "time.Duration": "int", "resource.Quantity": "quantity"}


def balanced(text, start):
    """Returns the text between the bracket at `start` and the one that closes it, without comments."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    depth, at = [], start
    while at < len(text):
        letter = text[at]
        if letter in '"`':
            at = text.find(letter, at + 1)
            while letter == '"' and at > 0 and text[at - 1] == "\\":
                at = text.find(letter, at + 1)
            if at < 0:
                break
        elif letter in pairs:
            depth.append(pairs[letter])
        elif depth and letter == depth[-1]:
            depth.pop()
            if not depth:
                return text[start + 1 : at]
        at += 1
    return ""


def split(text):
    """Splits arguments at commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "({[") - (letter in ")}]")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [part for part in [*parts, text[start:].strip()] if part]


class Package:
    """A folder of Go files: their text without comments, and the folders of their imports."""

    def __init__(self, tree, folder):
        self.tree, self.folder, self.imports = tree, folder, {}
        files = sorted(f for f in folder.glob("*.go") if not f.name.endswith("_test.go"))
        texts = [re.sub(r"(?m)(^|\s)//.*$", "", f.read_text()) for f in files]
        self.text = "\n".join(texts)
        for alias, path in re.findall(r'(?m)^\s*(?:import\s+)?([\w.]+)?\s*"([\w./-]+)"\s*$', self.text):
            inner = path.removeprefix(tree.module + "/")
            if inner != path:
                self.imports[alias or inner.rsplit("/", 1)[-1]] = tree.root / inner

    def find(self, name):
        """Returns the package and plain name of `name` or `alias.name`; None for other modules."""
        alias, dot, inner = name.rpartition(".")
        if not dot:
            return self, name
        folder = self.imports.get(alias)
        return (self.tree.package(folder), inner) if folder else None

    def constant(self, name):
        """Returns the string that a name stands for."""
        if name.startswith('"'):
            return name.strip('"')
        found = self.find(name)
        if not found:
            return None
        package, inner = found
        pattern = rf'(?m)^\s*(?:const\s+|var\s+)?{inner}\s*(?:\w+\s*)?=\s*("[^"]*"|[\w.]+)\s*$'
        match = re.search(pattern, package.text)
        return package.constant(match[1]) if match and match[1] != inner else None

    def function(self, name):
        """Returns parameters, result and body of a function of this package."""
        match = re.search(rf"(?m)^func {name}\(", self.text)
        if not match:
            return None
        parameters = balanced(self.text, match.end() - 1)
        rest = match.end() + len(parameters) + 1
        brace = self.text.index("{\n", rest) if "{\n" in self.text[rest:] else rest
        return split(parameters), self.text[rest:brace].strip(), balanced(self.text, brace)


class Tree:
    """The sources of a Go module."""

    def __init__(self, root):
        self.root, self.packages = pathlib.Path(root), {}
        self.module = re.search(r"(?m)^module\s+(\S+)", (self.root / "go.mod").read_text())[1]

    def package(self, folder):
        if folder not in self.packages:
            self.packages[folder] = Package(self, folder)
        return self.packages[folder]

    def fields(self, package, body, depth):
        """Returns the JSON fields of the body of a struct; None if not all of them are known."""
        fields = {}
        for line in split_lines(body):
            match = re.match(r"(?:(\w+)\s+)?([\w.*\[\]{}]+)(?:\s+`([^`]*)`)?$", line)
            if not match:
                return None
            name, kind, tags = match.groups()
            tag = re.search(r'json:"([^"]*)"', tags or "")
            name_in_json = tag[1].split(",")[0] if tag else ""
            if name is None or (tag and "inline" in tag[1]):
                inner = self.field(package, kind, depth + 1)
                if "fields" not in inner:
                    return None
                fields.update(inner["fields"])
            elif name_in_json != "-" and name[0].isupper():
                fields[name_in_json or name] = self.field(package, kind, depth + 1)
        return fields

    def field(self, package, kind, depth=0):
        """Returns type and fields of a Go type."""
        kind = kind.lstrip("*")
        if kind.startswith("[]"):
            inner = self.field(package, kind[2:], depth)
            return {**inner, "type": f"[{inner['type']}]"}
        if kind.startswith("map[string]"):
            inner = self.field(package, kind[len("map[string]") :], depth)
            return {"type": f"map[{inner['type']}]", **({"open": True} if inner["type"] == "object" else {})}
        if kind in SCALARS or kind in OTHERS:
            return {"type": SCALARS.get(kind) or OTHERS[kind]}
        if kind in ("any", "interface{}", "json.RawMessage"):
            return {"type": "any"}

        found = package.find(kind) if depth < 6 else None
        unknown = {"type": "any", "open": True}
        if not found:
            return unknown
        package, name = found
        if re.search(rf"(?m)^func \(\w* ?\*?{name}\) UnmarshalJSON\(", package.text):
            return {"type": "any"}
        match = re.search(rf"(?m)^(?:type\s+|\t){name}\s+(=\s*)?([\w.*\[\]]+)", package.text)
        if not match:
            return unknown
        if match[2] != "struct":
            return self.field(package, match[2], depth + 1)
        fields = self.fields(package, balanced(package.text, package.text.index("{", match.end())), depth)
        return {"type": "object", "fields": fields} if fields else {"type": "object", "open": True}

    def parameters(self, package, name, depth=0):
        """Returns what a factory reads: `ignored`, `parameters`, or `open`."""
        found = package.find(name)
        function = found and found[0].function(found[1])
        if not function:
            return {"open": True}
        package, (parameters, _, body) = found[0], function
        of_json = (p.split() for p in parameters if p.endswith(("json.Decoder", "json.RawMessage")))
        raw = next((words[0] for words in of_json if len(words) == 2), "_")
        if raw == "_" or not re.search(rf"\b{raw}\b", body):
            return {"ignored": True}

        targets = set(re.findall(rf"\b{raw}\.Decode\(&?(\w+)\)", body))
        targets |= set(re.findall(rf"json\.Unmarshal\({raw}, &?(\w+)\)", body))
        if not targets and depth < 3:
            # Another function of the package decodes them.
            called = re.search(rf"\b(\w+)\(\s*(?:[\w.\"]+,\s*)?{raw}\b", body)
            return self.parameters(package, called[1], depth + 1) if called else {"open": True}
        kind = self.declared(package, body, targets.pop()) if len(targets) == 1 else None
        spec = self.field(package, kind) if kind else {}
        return {"parameters": spec["fields"]} if "fields" in spec else {"open": True}

    def declared(self, package, body, variable):
        """Returns the type of a variable."""
        match = re.search(rf"\bvar {variable} \*?([\w.]+)\s*$", body, re.M)
        match = match or re.search(rf"\b{variable} :?= &?([\w.]+)\{{", body)
        if match:
            return match[1]
        copied = re.search(rf"\b{variable} :?= \*?(\w+)\s*$", body, re.M)
        if copied and copied[1] != variable:
            return self.declared(package, package.text, copied[1])
        call = re.search(rf"\b{variable} :?= ([\w.]+)\(", body)
        found = package.find(call[1]) if call else None
        function = found and found[0].function(found[1])
        return function[1].lstrip("*") if function and found[0] is package else None


def split_lines(body):
    """Yields the fields in the body of a struct, each on one line."""
    depth, parts = 0, []
    for line in body.splitlines():
        depth += line.count("{") - line.count("}")
        parts.append(line.strip())
        if depth == 0:
            text = " ".join(part for part in parts if part)
            parts = []
            if text:
                yield re.sub(r"\s+", " ", text)


def plugins(root):
    """Returns the plugins that the program registers."""
    tree, found = Tree(root), {}
    for file in sorted(tree.root.glob("cmd/**/*.go")):
        package = tree.package(file.parent)
        for match in re.finditer(r"\b\w*plugin\w*\.(Register\w*)\(", package.text):
            arguments = split(balanced(package.text, match.end() - 1))
            name = package.constant(arguments[0]) if arguments else None
            factories = [a for a in arguments[1:] if re.search(r"Stability\w*$", a) is None]
            if name is None or not factories:
                continue
            spec = {}
            if any(argument.endswith("StabilityAlpha") for argument in arguments):
                spec["alpha"] = True
            if "Deprecated" in match[1]:
                spec["deprecated"] = True
                removal = [a.strip('"').lstrip("v") for a in arguments if re.match(r'"v?\d', a)]
                spec["removal"] = removal[-1] if removal else None
                spec["use"] = package.constant(arguments[-1])
            spec |= tree.parameters(package, factories[0])
            found[name] = {key: value for key, value in spec.items() if value or key == "parameters"}
    return found
